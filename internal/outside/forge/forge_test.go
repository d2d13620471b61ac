package forge

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
)

// World: pure.
func TestLost(t *testing.T) {
	t.Parallel()
	t0 := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	d := func(id int64, guid string, minute, code int) Delivery {
		return Delivery{ID: id, GUID: guid, At: t0.Add(time.Duration(minute) * time.Minute), Code: code}
	}
	for _, tc := range []struct {
		name string
		all  []Delivery
		want []int64
	}{
		{"nothing", nil, []int64{}},
		{"all arrived", []Delivery{d(2, "b", 2, 202), d(1, "a", 1, 200)}, []int64{}},
		{"one was refused and one not answered, oldest first", []Delivery{d(3, "c", 3, 200), d(2, "b", 2, 0), d(1, "a", 1, 502)}, []int64{1, 2}},
		{"a redelivery arrived", []Delivery{d(2, "a", 2, 200), d(1, "a", 1, 500)}, []int64{}},
		{"a redelivery was lost too: the newest attempt stands for both", []Delivery{d(2, "a", 2, 500), d(1, "a", 1, 500)}, []int64{2}},
		{"redirects do not count as taken", []Delivery{d(1, "a", 1, 302)}, []int64{1}},
	} {
		got := []int64{}
		for _, l := range Lost(tc.all) {
			got = append(got, l.ID)
		}
		if diff := cmp.Diff(got, tc.want); diff != "" {
			t.Errorf("%s: got, want (-, +):\n%s", tc.name, diff)
		}
	}
}

// World: pure.
func TestErrorsHaveAProblemForCallersAndAKindForPeople(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("register: %w", Fail(Taken, "the name is in use", "", nil))
	if !Is(err, Taken) || Is(err, Busy) || !slipway.Is(err, slipway.Conflict) {
		t.Errorf("%v is %s and %s", err, ProblemOf(err), slipway.KindOf(err))
	}
	if ProblemOf(nil) != "" || ProblemOf(errors.New("x")) != Away {
		t.Error("an unknown error is not Away")
	}
	throttled := Fail(Throttled, "wait", "", nil).Wait(time.Minute)
	var person *slipway.Error
	if !errors.As(throttled, &person) || person.RetryAfter != time.Minute || throttled.RetryAfter != time.Minute {
		t.Errorf("%+v", throttled)
	}
	for p := range kinds {
		if Fail(p, "x", "", nil).person.Kind == "" {
			t.Errorf("%s has no kind", p)
		}
	}
}
