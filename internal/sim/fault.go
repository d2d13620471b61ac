package sim

import (
	"context"
	"runtime"
)

// beginning is the point at which a transaction begins. A crash there is also one right
// after the transaction before, and, since a transaction calls nobody, one anywhere in the
// middle of this one.
const beginning = "a transaction"

// point is where something may go wrong: it returns what does. A fault that cannot happen
// here waits for a point where it can.
func (w *World) point(op string, may func(What) bool) What {
	if w.looking {
		return "" // it is the simulation itself that looks
	}
	if w.dead {
		runtime.Goexit() // another goroutine of the process has met its end
	}
	w.points++
	if w.fault.What == "" || w.points < w.fault.At || !may(w.fault.What) {
		return ""
	}
	what := w.fault.What
	w.fault = Fault{}
	if what == Crash {
		w.crash("before " + op)
	}
	return what
}

// crash ends our process where it is. Each of its goroutines ends at the next thing that it
// does in the world; what it still does in its memory, nobody sees.
func (w *World) crash(where string) {
	w.Count.Crashes++
	w.tell("CRASH %s", where)
	w.dead = true
	runtime.Goexit()
}

// out is a call to the outside: its effect, and how it may go wrong.
type out struct {
	op     string
	do     func() error
	cut    func()                 // of a list: leaves out a part
	late   func()                 // of a list: leaves out what is young
	refuse func(What) error       // what may be answered in place of the effect; nil: not this
	away   func(why string) error // no answer
	down   bool

	mayFreeze func() bool
}

func (c out) may(what What) bool {
	switch what {
	case Freeze, FreezeAfter:
		return c.mayFreeze()
	case Partial:
		return c.cut != nil
	case Late:
		return c.late != nil
	case Refused, Throttled, Busy:
		return c.refuse != nil && c.refuse(what) != nil
	}
	return true
}

// call carries out a call as the world wants it to.
func (w *World) call(ctx context.Context, c out) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mayFreeze = w.mayFreeze
	what := w.point(c.op, c.may)
	w.tell("%s %s", c.op, what)
	if what != "" {
		w.Count.Faults++
	}
	if c.down {
		w.Count.Faults++
		return c.away("it is down")
	}
	switch what {
	case Away:
		return c.away("there was no answer")
	case Refused, Throttled, Busy:
		return c.refuse(what)
	case Race:
		w.assign()
	}
	if what == Freeze {
		w.freeze("before " + c.op)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	err := c.do()
	switch {
	case what == FreezeAfter:
		w.freeze("after " + c.op)
	case what == CrashAfter:
		w.crash("after " + c.op)
	case what == Lost:
		return c.away("the reply was lost")
	case what == Partial && err == nil:
		c.cut()
		return c.away("the list broke off")
	case what == Late && err == nil:
		c.late()
	}
	return err
}
