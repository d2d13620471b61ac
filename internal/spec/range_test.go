package spec

import (
	"testing"

	"github.com/Masterminds/semver/v3"
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
