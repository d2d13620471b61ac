package slipway

import (
	"fmt"
	"strings"
)

// MayChangeVersion is the answer to an action of a task of this kind that asks for another
// version, where the asking alone is wrong: the code and the sentence of the failed call.
// Both are empty when it may.
func MayChangeVersion(kind TaskKind, target string) (code, text string) {
	switch {
	case strings.TrimSpace(target) == "":
		return CodeInvalidArgument, "target_version must be a version, such as 1.6.0"
	case kind != UpgradeTask && kind != RollbackTask:
		return CodeInvalidArgument, "there is no version to change: this is no upgrade, and only an upgrade's or a rollback's actions may call upgrade_deployment_version"
	}
	return "", ""
}

// LeadsTo is the same for a target that is not the one that the task is about.
func LeadsTo(kind TaskKind, target, wanted string) (code, text string) {
	if target == wanted {
		return "", ""
	}
	text = fmt.Sprintf("this %s is to %s, the action asked for %s", kind, wanted, target)
	if strings.TrimPrefix(target, "v") == strings.TrimPrefix(wanted, "v") {
		text += fmt.Sprintf(": write it as the %s does, %s", kind, wanted)
	}
	return CodeVersionNotSupported, text
}
