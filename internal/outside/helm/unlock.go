package helm

import (
	"fmt"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/release/common"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
)

// unlock marks a revision as failed that says it is under way. Helm's lock is that word
// in its storage: it has no owner and no end, so a process that dies leaves it for ever
// and every later upgrade is refused. The note is "" when there is nothing to tell.
func unlock(cfg *action.Configuration, rel *releasev1.Release) (note string, err error) {
	was := rel.Info.Status
	if was == common.StatusUninstalled {
		return fmt.Sprintf("The Helm release %s had been uninstalled and its history kept; it is installed again", rel.Name), nil
	}
	if !was.IsPending() && was != common.StatusUninstalling {
		return "", nil
	}
	rel.SetStatus(common.StatusFailed, "taken over by Slipway; it was "+was.String())
	if err := cfg.Releases.Update(rel); err != nil {
		return "", fmt.Errorf("unlock the release %s: %w", rel.Name, err)
	}
	return fmt.Sprintf("The Helm release %s was left %s at revision %d by a process that ended; it was unlocked", rel.Name, was, rel.Version), nil
}
