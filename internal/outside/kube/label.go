package kube

import (
	"strconv"

	"slipway.dev/slipway/internal/slipway"
)

// Labels and annotations of everything that Slipway writes.
const (
	LabelApplication  = "slipway.dev/application"
	LabelProject      = "slipway.dev/project"
	LabelEnvironment  = "slipway.dev/environment"
	LabelComponent    = "slipway.dev/component"
	LabelInstallation = "slipway.dev/installation"
	LabelTask         = "slipway.dev/task"
	LabelStep         = "slipway.dev/step"
	LabelFlowRun      = "slipway.dev/flow-run"
	LabelRole         = "slipway.dev/role" // action: the Job of an action's command
	LabelManagedBy    = "app.kubernetes.io/managed-by"

	// AnnotationReplicas keeps the replicas of a stopped workload, so that they are known
	// when it starts again.
	AnnotationReplicas = "slipway.dev/replicas"
	// AnnotationSecrets names the versions of the secrets that a pod was started with; a
	// new version changes the template and so restarts the pods.
	AnnotationSecrets = "slipway.dev/secrets"

	annotationCall     = "slipway.dev/call"      // the key of the action's call
	annotationSpecHash = "slipway.dev/spec-hash" // of the Job as we built it
	annotationTaskKind = "slipway.dev/task-kind"

	managedBy  = "slipway"
	roleAction = "action"

	// fieldManager owns what this package writes; the chart's fields belong to Helm.
	fieldManager = "slipway"
)

// stoppedNode is the node selector that no node carries: a DaemonSet has no replicas, so
// this is how one is stopped.
var stoppedNode = map[string]string{"slipway.dev/stopped": "true"}

// StoppedNode is the node selector of a stopped DaemonSet.
func StoppedNode() (key, value string) { return "slipway.dev/stopped", "true" }

// ApplicationLabels are the labels of every object of an application.
func ApplicationLabels(app slipway.Application) map[string]string {
	return map[string]string{
		LabelApplication: app.Name,
		LabelProject:     app.Project,
		LabelEnvironment: app.Environment,
	}
}

// decimal writes n as the value of a label.
func decimal(n int64) string { return strconv.FormatInt(n, 10) }
