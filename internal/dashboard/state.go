package dashboard

import "slipway.dev/slipway/internal/slipway"

// sign is how a state looks: a word and an icon, with a class for the colour. The colour
// only repeats what the other two say.
type sign struct{ Word, Icon, Class string }

var taskSigns = map[slipway.TaskState]sign{
	slipway.Queued:    {"Queued", "clock", "is-idle"},
	slipway.Running:   {"Running", "busy", "is-busy"},
	slipway.Succeeded: {"Succeeded", "ok", "is-ok"},
	slipway.Failed:    {"Failed", "bad", "is-bad"},
	slipway.Cancelled: {"Cancelled", "off", "is-warn"},
}

var stepSigns = map[slipway.StepState]sign{
	slipway.StepRunning:   {"Running", "busy", "is-busy"},
	slipway.StepSucceeded: {"Succeeded", "ok", "is-ok"},
	slipway.StepFailed:    {"Failed", "bad", "is-bad"},
	slipway.StepCancelled: {"Cancelled", "off", "is-warn"},
}

var applicationSigns = map[slipway.ApplicationState]sign{
	slipway.AppAccepted: {"Accepted", "clock", "is-idle"},
	slipway.AppChanging: {"Changing", "busy", "is-busy"},
	slipway.AppRunning:  {"Running", "ok", "is-ok"},
	slipway.AppFailed:   {"Failed", "bad", "is-bad"},
	slipway.AppDeleting: {"Deleting", "busy", "is-busy"},
	slipway.AppDeleted:  {"Deleted", "off", "is-idle"},
}

// lookUp shows a state that the table lacks by its own word, so that a new one is never
// an empty cell.
func lookUp[S ~string](signs map[S]sign, s S) sign {
	if found, ok := signs[s]; ok {
		return found
	}
	return sign{Word: string(s), Icon: "dot", Class: "is-idle"}
}

func taskSign(s slipway.TaskState) sign               { return lookUp(taskSigns, s) }
func stepSign(s slipway.StepState) sign               { return lookUp(stepSigns, s) }
func applicationSign(s slipway.ApplicationState) sign { return lookUp(applicationSigns, s) }

// kindTitle is a task's type in words.
func kindTitle(k slipway.TaskKind) string {
	if t := k.Title(); t != "" {
		return t
	}
	return string(k)
}

var roleWords = map[slipway.Role]string{
	slipway.ReadOnly:      "Read-only",
	slipway.ReadWrite:     "Read/write",
	slipway.Administrator: "Administrator",
}

// roleWord is the role as people read it.
func roleWord(r slipway.Role) string {
	if w, ok := roleWords[r]; ok {
		return w
	}
	return string(r)
}
