package sim

// Shrink makes a failing run smaller: it leaves out steps and faults as long as what is
// left still fails, and makes the numbers small.
func Shrink(steps []Step, fails func([]Step) bool) []Step {
	for size := len(steps) / 2; size > 0; size /= 2 {
		for from := 0; from < len(steps); {
			to := min(from+size, len(steps))
			smaller := append(append([]Step{}, steps[:from]...), steps[to:]...)
			if fails(smaller) {
				steps = smaller
			} else {
				from = to
			}
		}
	}
	for i := range steps {
		for _, change := range []func(*Step){
			func(s *Step) { s.Fault = Fault{} },
			func(s *Step) { s.N = 0 },
			func(s *Step) { s.N %= 16 },
		} {
			smaller := append([]Step{}, steps...)
			if change(&smaller[i]); smaller[i] != steps[i] && fails(smaller) {
				steps = smaller
			}
		}
	}
	return steps
}
