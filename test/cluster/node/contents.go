package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/test/cluster/image"
	"slipway.dev/slipway/test/cluster/prepare"
)

// ensureImages loads the images that must always be there, unless they are.
func (c Cluster) ensureImages(ctx context.Context) error {
	loaded, err := c.Images(ctx)
	if err != nil {
		return err
	}
	missing := func(name string) bool { return !slices.Contains(loaded, name) }
	if !missing(PauseImage) && !missing(BusyboxImage) && !slices.ContainsFunc(DriverImages, missing) {
		return nil
	}
	builder, err := c.builder()
	if err != nil {
		return err
	}
	pause, err := builder.Build(ctx, prepare.Pause)
	if err != nil {
		return err
	}
	busybox, err := image.Busybox(ctx, BusyboxImage)
	if err != nil {
		return err
	}
	busybox.References = append(busybox.References, DriverImages...)
	file := c.path("images", "basic.tar")
	if err := image.Save(file, image.Program(filepath.Join(pause, "pause"), "pause", PauseImage), busybox); err != nil {
		return err
	}
	if err := c.Load(ctx, file); err != nil {
		return err
	}
	return os.Remove(file)
}

// Images lists the names of the images that pods can use.
func (c Cluster) Images(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	output, err := exec.CommandContext(ctx, "ctr", "--address", c.Socket(), "--namespace", "k8s.io", "images", "list", "--quiet").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("listing images: %w: %s", err, bytes.TrimSpace(output))
	}
	return strings.Fields(string(output)), nil
}

// Load makes the images of a tarball usable by pods.
func (c Cluster) Load(ctx context.Context, file string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	return image.Import(ctx, c.Socket(), file)
}

// ensureObjects applies what the cluster holds from the start.
func (c Cluster) ensureObjects(ctx context.Context, built binaries) error {
	kubectl := filepath.Join(built.kubernetes, "kubectl")
	// The role it names is made by the API server just after it is ready.
	err := waitFor(ctx, 30*time.Second, func(ctx context.Context) error {
		return run(ctx, kubectl, "--kubeconfig", c.Kubeconfig(), "apply", "--server-side", "-f", c.path("config", "objects.yaml"))
	}, nil)
	if err != nil {
		return fmt.Errorf("applying the first objects: %w", err)
	}
	return nil
}

// linkKubectl puts a kubectl of the cluster's own version beside its kubeconfig.
func (c Cluster) linkKubectl(built binaries) error {
	link := c.path("kubectl")
	target := filepath.Join(built.kubernetes, "kubectl")
	if now, err := os.Readlink(link); err == nil && now == target {
		return nil
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("linking kubectl: %w", err)
	}
	if err := os.Symlink(target, link); err != nil {
		return fmt.Errorf("linking kubectl: %w", err)
	}
	return nil
}

// tryPod runs a pod and removes it: a node may say that it is ready and still be unable
// to start anything.
func (c Cluster) tryPod(ctx context.Context) error {
	const namespace, name = metav1.NamespaceSystem, "slipway-trial"
	clientset, err := c.clientset(10 * time.Second)
	if err != nil {
		return err
	}
	pods := clientset.CoreV1().Pods(namespace)
	remove := func(ctx context.Context) error {
		none := int64(0)
		err := pods.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &none})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("removing the trial pod: %w", err)
		}
		return nil
	}
	if err := remove(ctx); err != nil {
		return err
	}
	no := false
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: &no,
			RestartPolicy:                corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "trial", Image: BusyboxImage, ImagePullPolicy: corev1.PullNever, Command: []string{"true"},
			}},
		},
	}
	// The namespace's service account is made a moment after the controllers start.
	err = waitFor(ctx, time.Minute, func(ctx context.Context) error {
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		return err
	}, nil)
	if err != nil {
		return fmt.Errorf("creating the trial pod: %w", err)
	}
	err = waitFor(ctx, 2*time.Minute, func(ctx context.Context) error {
		seen, err := pods.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading the trial pod: %w", err)
		}
		if seen.Status.Phase != corev1.PodSucceeded {
			return fmt.Errorf("the trial pod is %s: %s", seen.Status.Phase, waitingReason(seen))
		}
		return nil
	}, nil)
	if err != nil {
		return fmt.Errorf("running the trial pod: %w\n%s", err, c.keeper().LogTail("kubelet", 15))
	}
	return remove(ctx)
}

func waitingReason(pod *corev1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		if waiting := status.State.Waiting; waiting != nil {
			return waiting.Reason + " " + waiting.Message
		}
	}
	return pod.Status.Message
}
