package author

import (
	"regexp"
	"time"

	"github.com/distribution/reference"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/reconcile/application"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// executeArgs is what execute_commands sends.
type executeArgs struct {
	Commands            []string `json:"commands"`
	Image               string   `json:"image"`
	EnvFromComponent    string   `json:"env_from_component"`
	TimeoutSeconds      float64  `json:"timeout_seconds"`
	FailIfOutputMatches string   `json:"fail_if_output_matches"`
}

// Command is the Job of a call as it would be made.
type Command struct {
	Job   string   `json:"job"`
	Image string   `json:"image"`
	Env   []EnvVar `json:"env,omitempty"` // in the order of the container's
}

// EnvVar is one variable of a command. What stands in a Secret or elsewhere is named.
type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value"` // or "secret NAME/KEY", "config map NAME/KEY", "field PATH"
}

// execute runs a command: it makes the Job that the real one would make, and then plays
// how it goes.
func (c *cluster) execute(args executeArgs, frozen spec.GlobalContext, flowRun, task string, call *Call) *failure {
	job := kube.JobSpec{
		App: c.preview.application(), Release: frozen.Instance.HelmRelease, FlowRunID: flowRun, CallKey: flowRun,
		Command: args.Commands, Image: args.Image, Timeout: time.Duration(args.TimeoutSeconds * float64(time.Second)),
	}
	if args.FailIfOutputMatches != "" {
		var err error
		if job.FailIfOutputMatches, err = regexp.Compile(args.FailIfOutputMatches); err != nil {
			return failed(slipway.Errorf(slipway.Invalid, "fail_if_output_matches: %v", err).WithHint("it is an RE2 regular expression"))
		}
	}
	if name := args.EnvFromComponent; name != "" {
		component, ok := c.preview.Spec.Components[name]
		if !ok {
			return failed(application.UnknownComponent(c.preview.Spec, name))
		}
		from, err := kube.PickWorkload(c.of(component), name, component.Container, frozen.Instance.Namespace)
		if err != nil {
			return failed(err)
		}
		job.From, job.Container, job.Env = &from, component.Container, application.EnvOf(frozen.Components[name])
	}
	made, err := kube.BuildJob(job)
	if err != nil {
		return failed(err)
	}
	call.Command = &Command{Job: made.Name, Image: args.Image}
	for _, v := range made.Spec.Template.Spec.Containers[0].Env {
		out := EnvVar{Name: v.Name, Value: v.Value}
		if from := v.ValueFrom; from != nil {
			switch {
			case from.SecretKeyRef != nil:
				out.Value = "secret " + from.SecretKeyRef.Name + "/" + from.SecretKeyRef.Key
			case from.ConfigMapKeyRef != nil:
				out.Value = "config map " + from.ConfigMapKeyRef.Name + "/" + from.ConfigMapKeyRef.Key
			case from.FieldRef != nil:
				out.Value = "field " + from.FieldRef.FieldPath
			case from.ResourceFieldRef != nil:
				out.Value = "resource " + from.ResourceFieldRef.Resource
			}
		}
		call.Command.Env = append(call.Command.Env, out)
	}
	return c.run(job, made.Name, task, call)
}

// run plays how a command goes.
func (c *cluster) run(job kube.JobSpec, name, task string, call *Call) *failure {
	p := c.play(slipway.ExecuteCommands, job.Command)
	if p == nil {
		p = &spec.Play{}
	}
	if p.Running {
		return failed(&kube.Failure{Code: slipway.CodeJobRunning, Err: slipway.Errorf(slipway.Conflict,
			"the Job %s of another task is still running; wait for it to end and request the change again", name)})
	}
	if old := c.job; old != nil && old.flowRun != job.FlowRunID {
		call.Notes = append(call.Notes, "Deleted the Job "+name+", left by the "+old.task)
	}
	c.job = &oldJob{flowRun: job.FlowRunID, task: task}
	if _, err := reference.ParseNormalizedNamed(job.Image); err != nil {
		return commandFailed(slipway.CodeJobFailed, "could not start (Job %s): the container action is waiting: InvalidImageName: %s is no image reference",
			job.Command, name, job.Image)
	}
	output, _ := kube.CutOutput(kube.CleanOutput([]byte(p.Output)))
	switch {
	case p.TimesOut:
		timeout := job.Timeout
		if timeout <= 0 {
			timeout = kube.DefaultJobTimeout
		}
		return commandFailed(slipway.CodeJobTimeout, "did not end within %s (Job %s)", job.Command, timeout, name).withOutput(output)
	case p.ExitCode != 0:
		return commandFailed(slipway.CodeJobFailed, "failed with exit code %d (Job %s)", job.Command, p.ExitCode, name).withOutput(output)
	case job.FailIfOutputMatches != nil && job.FailIfOutputMatches.MatchString(p.Output):
		return commandFailed(slipway.CodeJobFailed, "ended with exit code 0, but its output matches %q (Job %s)", job.Command, job.FailIfOutputMatches, name).withOutput(output)
	}
	call.Result = map[string]any{}
	return nil
}
