package spec

import (
	"testing"

	"github.com/Masterminds/semver/v3"

	"slipway.dev/slipway/internal/slipway"
)

// World: pure. Python's ranges are taken where they mean the same: for each, versions that
// are in it and versions that are not.
func TestConvertRange(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in, want string
		changed  bool
		inside   []string
		outside  []string
	}{
		{">=1.5.0 <2.0.0", ">=1.5.0 <2.0.0", false, []string{"1.5.0", "1.9.9"}, []string{"1.4.9", "2.0.0", "1.7.0-rc.1"}},
		{">=1.5.0-0", ">=1.5.0-0", false, []string{"1.5.0-rc.1", "3.0.0"}, []string{"1.4.0"}},
		{"^1.2.3 || ~2.1", "^1.2.3 || ~2.1", false, []string{"1.9.0", "2.1.7"}, []string{"2.2.0"}},
		{">=1.5,<2.0", ">=1.5 <2.0", true, []string{"1.5.0", "1.99.0"}, []string{"1.4.9", "2.0.0"}},
		{">= 1.5, < 2.0, != 1.6", ">=1.5 <2.0 !=1.6.0", true, []string{"1.6.1"}, []string{"1.6.0"}},
		{"~=1.5", ">=1.5 <2", true, []string{"1.5.0", "1.9.0"}, []string{"2.0.0", "1.4.0"}},
		{"~=1.5.2", ">=1.5.2 <1.6", true, []string{"1.5.2", "1.5.9"}, []string{"1.5.1", "1.6.0"}},
		{"==1.5.*", "=1.5.x", true, []string{"1.5.0", "1.5.7"}, []string{"1.6.0"}},
		{">=1.0,!=1.5.*", ">=1.0 !=1.5.x", true, []string{"1.4.0", "1.6.0"}, []string{"1.5.3"}},
		{"==1.5", "=1.5.0", true, []string{"1.5.0"}, []string{"1.5.1"}},
		{">=1.5rc1,<2", ">=1.5.0-rc.1 <2", true, []string{"1.5.0-rc.2", "1.5.0"}, []string{"1.4.0"}},
	} {
		got, changed, err := convertRange(tc.in)
		if err != nil || got != tc.want || changed != tc.changed {
			t.Errorf("convertRange(%q) = %q, %v, %v; want %q, %v", tc.in, got, changed, err, tc.want, tc.changed)
			continue
		}
		c, err := semver.NewConstraint(got)
		if err != nil {
			t.Errorf("%q: %v", got, err)
			continue
		}
		for _, v := range tc.inside {
			if !c.Check(semver.MustParse(v)) {
				t.Errorf("%s is not in %q", v, tc.in)
			}
		}
		for _, v := range tc.outside {
			if c.Check(semver.MustParse(v)) {
				t.Errorf("%s is in %q", v, tc.in)
			}
		}
	}
	for _, bad := range []string{"~=1", ">=1.5.*,<2", "==1.2.3.4", "newest,", ",", "~=1.*"} {
		if got, _, err := convertRange(bad); err == nil {
			if _, err := semver.NewConstraint(got); err == nil {
				t.Errorf("convertRange(%q) = %q", bad, got)
			}
		}
	}
}

// World: pure.
func TestWaysBack(t *testing.T) {
	t.Parallel()
	d := slipway.DriverSpec{Name: "guestbook", Version: "2.0.0", Rollbacks: []slipway.UpgradePath{
		{From: ">=1.1.0 <1.2.0", To: ">=1.0.0 <1.2.0"}, {From: ">=1.3.0", To: ">=1.2.0 <1.3.0"},
	}}
	for _, tc := range []struct{ name, from, to, want string }{
		{"a way", "1.1.4", "1.0.2", ""},
		{"another", "1.3.0", "1.2.9", ""},
		{"the driver alone", "1.1.0", "1.1.0", ""},
		{"none so far", "1.3.0", "1.0.0", "driver guestbook 2.0.0 allows no rollback from 1.3.0 to 1.0.0 (it allows those from >=1.1.0 <1.2.0 to >=1.0.0 <1.2.0 and from >=1.3.0 to >=1.2.0 <1.3.0)"},
		{"no versions", "blue", "green", "driver guestbook cannot tell whether blue to green is a rollback (use versions of the form 1.4.2)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := RollbackAllowed(d, tc.from, tc.to); err != nil {
				e, _ := err.(*slipway.Error) //nolint:errorlint // spec returns nothing else
				got = e.Msg + " (" + e.Hint + ")"
			}
			if got != tc.want {
				t.Errorf("RollbackAllowed() = %q, want %q", got, tc.want)
			}
		})
	}
	silent := slipway.DriverSpec{Name: "guestbook", Version: "1.0.0"}
	if err := RollbackAllowed(silent, "1.1.0", "1.0.0"); !slipway.Is(err, slipway.Conflict) {
		t.Errorf("a driver that says nothing: %v, want a refusal", err)
	}
}
