package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// runtimeClient speaks to containerd as the kubelet does.
func (c Cluster) runtimeClient() (runtime.RuntimeServiceClient, *grpc.ClientConn, error) {
	connection, err := grpc.NewClient("unix://"+c.Socket(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, fmt.Errorf("connecting to containerd: %w", err)
	}
	return runtime.NewRuntimeServiceClient(connection), connection, nil
}

func (c Cluster) runtimeAnswers(ctx context.Context) error {
	client, connection, err := c.runtimeClient()
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if _, err := client.Version(ctx, &runtime.VersionRequest{}); err != nil {
		return fmt.Errorf("asking containerd for its version: %w", err)
	}
	return nil
}

// removeSandboxes ends and removes every pod. Containerd undoes their networks and
// mounts itself, which nobody else knows how to do as well.
func (c Cluster) removeSandboxes(ctx context.Context) (int, error) {
	client, connection, err := c.runtimeClient()
	if err != nil {
		return 0, err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	listed, err := client.ListPodSandbox(ctx, &runtime.ListPodSandboxRequest{})
	if err != nil {
		return 0, fmt.Errorf("listing pods: %w", err)
	}
	var problems []error
	for _, sandbox := range listed.GetItems() {
		name := sandbox.GetMetadata().GetNamespace() + "/" + sandbox.GetMetadata().GetName()
		if _, err := client.StopPodSandbox(ctx, &runtime.StopPodSandboxRequest{PodSandboxId: sandbox.GetId()}); err != nil {
			problems = append(problems, fmt.Errorf("stopping pod %s: %w", name, err))
			continue
		}
		if _, err := client.RemovePodSandbox(ctx, &runtime.RemovePodSandboxRequest{PodSandboxId: sandbox.GetId()}); err != nil {
			problems = append(problems, fmt.Errorf("removing pod %s: %w", name, err))
		}
	}
	return len(listed.GetItems()), errors.Join(problems...)
}

// deleteContainers ends what runc still runs for us, by runc's own records. It is for
// the containers that containerd could not end, and is harmless when there are none.
func (c Cluster) deleteContainers(ctx context.Context) (int, error) {
	root := c.path("run", "runc", "k8s.io")
	if _, err := os.Stat(root); os.IsNotExist(err) {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	list, err := exec.CommandContext(ctx, "runc", "--root", root, "list", "--quiet").Output()
	if err != nil {
		return 0, fmt.Errorf("listing containers that are left: %w", err)
	}
	var problems []error
	ids := strings.Fields(string(list))
	for _, id := range ids {
		if output, err := exec.CommandContext(ctx, "runc", "--root", root, "delete", "--force", id).CombinedOutput(); err != nil {
			problems = append(problems, fmt.Errorf("deleting container %s: %w: %s", id, err, bytes.TrimSpace(output)))
		}
	}
	return len(ids), errors.Join(problems...)
}
