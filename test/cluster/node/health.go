package node

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// probeTimeout is how long one question about a part's health may take.
const probeTimeout = 3 * time.Second

// local asks parts on loopback for their health. Their certificates are their own
// making, and nothing is told to them, so they are not checked.
var local = &http.Client{
	Timeout:   probeTimeout,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}, //nolint:gosec // loopback only
}

// answers is the health of a part that serves it over HTTP.
func answers(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fmt.Errorf("asking %s: %w", url, err)
		}
		response, err := local.Do(request)
		if err != nil {
			return fmt.Errorf("asking for its health: %w", err)
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(io.LimitReader(response.Body, 200)) // only to explain
			return fmt.Errorf("asking %s: %s: %s", url, response.Status, strings.TrimSpace(string(text)))
		}
		return nil
	}
}

// clientset is an administrator's client. Its time-out is that of one request.
func (c Cluster) clientset(timeout time.Duration) (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.Timeout = timeout
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return clientset, nil
}

func (c Cluster) apiAnswers(ctx context.Context) error {
	clientset, err := c.clientset(probeTimeout)
	if err != nil {
		return err
	}
	if _, err := clientset.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
		return fmt.Errorf("asking the API server whether it is ready: %w", err)
	}
	return nil
}

// nodeReady reports whether the node is ready and takes pods.
func (c Cluster) nodeReady(ctx context.Context) error {
	clientset, err := c.clientset(probeTimeout)
	if err != nil {
		return err
	}
	node, err := clientset.CoreV1().Nodes().Get(ctx, NodeName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the node: %w", err)
	}
	for _, taint := range node.Spec.Taints {
		if strings.HasPrefix(taint.Key, "node.kubernetes.io/") {
			return fmt.Errorf("the node does not take pods yet: %s", taint.Key)
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type != corev1.NodeReady {
			continue
		}
		// A kubelet that died leaves its last word behind for a while.
		if age := time.Since(condition.LastHeartbeatTime.Time); condition.Status == corev1.ConditionTrue && age < 5*time.Minute {
			return nil
		}
		return fmt.Errorf("the node is not ready: %s", condition.Message)
	}
	return fmt.Errorf("the node has not said whether it is ready")
}

// waitFor repeats the question until the answer is good, the time is up, or stop says
// that waiting is in vain.
func waitFor(ctx context.Context, within time.Duration, question func(context.Context) error, stop func() error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		err := question(ctx)
		if err == nil {
			return nil
		}
		if stop != nil {
			if stopped := stop(); stopped != nil {
				return stopped
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %w", within, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
