package dashboard

import (
	"fmt"
	"strconv"
	"time"
)

// exact writes a time in full, for the tooltip and for programs that read the page.
func exact(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// ago writes how long before now t was, in one unit. Script slipway.js counts it on with
// the same rules.
func ago(t, now time.Time) string {
	d := now.Sub(t)
	switch {
	case d < -time.Minute:
		if d < -48*time.Hour {
			d -= 12 * time.Hour // what is 90 days away should not read as 89 a second later
		}
		return "in " + unit(-d)
	case d < 5*time.Second:
		return "just now"
	}
	return unit(d) + " ago"
}

func unit(d time.Duration) string {
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + " days"
}

// took writes a duration as a person would say it: 0.2 s, 12.8 s, 4 min 12 s, 2 h 5 min.
func took(d time.Duration) string {
	switch {
	case d < 0:
		return "0.0 s"
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// bytesWord writes a size.
func bytesWord(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// count writes a number with its noun: "1 component", "3 components".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// shortDigest is enough of a digest to compare by eye: sha256:5f1c9e2ab0d4.
func shortDigest(d string) string {
	const keep = len("sha256:") + 12
	if len(d) > keep {
		return d[:keep]
	}
	return d
}

func id(n int64) string { return strconv.FormatInt(n, 10) }
