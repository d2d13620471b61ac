package pool

import "time"

// maxHold bounds the time between two attempts.
const maxHold = 15 * time.Minute

// HoldAfter is how long launching rests after so many failures in a row: not at all after
// the first, which may be chance, then 10 s, 20 s, and so on to a quarter of an hour. A
// success, or a change of the pool or its credential, starts over.
func HoldAfter(failures int) time.Duration {
	if failures <= 1 {
		return 0
	}
	hold := 10 * time.Second
	for range failures - 2 {
		if hold *= 2; hold >= maxHold {
			return maxHold
		}
	}
	return hold
}
