// Package reconcile is the home of the reconcilers, one folder per noun. It holds no code.
//
// Each makes the world agree with what was accepted, in the same four beats: claim the
// work, take a snapshot, let Plan say the next step, act and record it. Plan is pure: the
// same snapshot always gives the same step. What acts decides nothing. A reconciler may be
// killed between any two lines, so what it is about to make outside is written down first,
// under the key that makes a repeat harmless.
package reconcile
