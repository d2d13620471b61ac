package kube

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

const (
	diagnoseLines = 20 // of a container's log
	diagnosePods  = 5
)

// Diagnose tells what is wrong with the application's pods: state, last warning, the end
// of the log of what crashed. It is for the output of a step that failed, redacted and cut
// as all output is; "" when nothing is wrong.
func (c *Client) Diagnose(ctx context.Context, app slipway.Application, redact func(string) string) (text string, cut bool, err error) {
	if redact == nil {
		return "", false, slipway.Errorf(slipway.Internal, "the pods of %s were to be read without a redactor", app.Ref())
	}
	var pods corev1.PodList
	if err := c.api.List(ctx, &pods, client.InNamespace(app.Namespace), client.MatchingLabels{LabelApplication: app.Name}); err != nil {
		return "", false, explain(err, "list the pods of %s in namespace %s", app.Name, app.Namespace)
	}
	var b strings.Builder
	told := 0
	for i := range pods.Items {
		p := &pods.Items[i]
		faults := faultsOf(p)
		if len(faults) == 0 || p.Labels[LabelRole] == roleAction || p.DeletionTimestamp != nil {
			continue
		}
		if told++; told > diagnosePods {
			continue
		}
		for _, f := range faults {
			fmt.Fprintln(&b, f.text(p.Name))
		}
		if warning := briefly(c.lastWarning(ctx, p), faults[0].message); warning != "" {
			fmt.Fprintln(&b, "  last event: "+warning)
		}
		for _, f := range faults {
			if log := c.endOfLog(ctx, p, f, diagnoseLines); log != "" {
				fmt.Fprintf(&b, "  the end of the log of container %s:\n", f.container)
				for line := range strings.Lines(log) {
					b.WriteString("    " + strings.TrimSuffix(line, "\n") + "\n")
				}
			}
		}
	}
	if told > diagnosePods {
		fmt.Fprintf(&b, "and %d more pods\n", told-diagnosePods)
	}
	text, cut = CutOutput(redact(b.String()))
	return text, cut, nil
}

// endOfLog reads the last lines of what a container wrote before it ended; "" when it
// never started or the log is gone.
func (c *Client) endOfLog(ctx context.Context, p *corev1.Pod, f fault, lines int64) string {
	if f.container == "" || f.cannotStart {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	opts := &corev1.PodLogOptions{Container: f.container, TailLines: &lines, Previous: f.restarts > 0 && f.crashes}
	stream, err := c.logs(ctx, p.Namespace, p.Name, opts)
	if err != nil {
		c.log.Debug("no log of a pod", "pod", p.Name, "container", f.container, "error", err)
		return ""
	}
	defer stream.Close()
	t := &tail{}
	if _, err := io.Copy(t, stream); err != nil {
		c.log.Debug("the log of a pod was not read to its end", "pod", p.Name, "container", f.container, "error", err)
	}
	raw, _ := t.Bytes()
	return CleanOutput(raw)
}

// lastLine is the last line with anything in it, cut for use in a message.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	text = strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	if runes := []rune(text); len(runes) > 200 {
		text = string(runes[:199]) + "…"
	}
	return text
}
