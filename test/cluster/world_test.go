package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"slipway.dev/slipway/test/cluster/guestbook"
	"slipway.dev/slipway/test/cluster/image"
	"slipway.dev/slipway/test/cluster/node"
)

// All tests of this package stand in the world "cluster": a real API server, scheduler,
// kubelet and containerd. They use the cluster that runs, and start it if none does;
// they leave it running. Where it cannot run they fail, and never skip: a test that was
// not run must not look like one that passed.

// patience bounds each wait. It is for slow machines; nothing here takes a tenth of it.
const patience = 2 * time.Minute

var once struct {
	sync.Mutex
	done bool
}

// world is one test's place on the cluster: a namespace of its own.
type world struct {
	t         *testing.T
	cluster   node.Cluster
	client    kubernetes.Interface
	namespace string
}

func theCluster(t *testing.T) node.Cluster {
	t.Helper()
	source, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return node.Cluster{Dir: node.DefaultDir(), Source: source, Report: t.Logf}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	cluster := theCluster(t)
	once.Lock()
	if !once.done {
		if err := cluster.Up(t.Context()); err != nil {
			once.Unlock()
			t.Fatal(err)
		}
		loadGuestbook(t, cluster)
		once.done = true
	}
	once.Unlock()

	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = 50, 100
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, cluster: cluster, client: client}
	made, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "slipway-cluster-test-"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.namespace = made.Name
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.kubectlOutput("get", "all,events"))
			t.Log(w.kubectlOutput("logs", "--selector=app.kubernetes.io/part-of=guestbook", "--prefix", "--tail=20"))
		}
		if err := client.CoreV1().Namespaces().Delete(context.Background(), w.namespace, metav1.DeleteOptions{}); err != nil {
			t.Errorf("removing the test's namespace: %v", err)
		}
	})
	// A pod is refused until its namespace has the account it would run under.
	w.wait("the namespace's service account", func() error {
		_, err := client.CoreV1().ServiceAccounts(w.namespace).Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	return w
}

// loadGuestbook builds and loads the sample application's images.
func loadGuestbook(t *testing.T, cluster node.Cluster) {
	t.Helper()
	folder := t.TempDir()
	specs, err := guestbook.Images(t.Context(), filepath.Join(cluster.Source, "../../examples/guestbook-app"), folder)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "images.tar")
	if err := image.Save(file, specs...); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Load(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	loaded, err := cluster.Images(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range specs {
		for _, reference := range spec.References {
			if !slices.Contains(loaded, reference) {
				t.Errorf("image %s was loaded and is not there", reference)
			}
		}
	}
}

// wait repeats until there is no error, or fails with the last one.
func (w *world) wait(what string, condition func() error) {
	w.t.Helper()
	var last error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if last = condition(); last == nil {
			return
		}
	}
	w.t.Fatalf("%s: not within %s: %v", what, patience, last)
}

// kubectl runs the cluster's own kubectl in the test's namespace.
func (w *world) kubectl(input string, arguments ...string) string {
	w.t.Helper()
	output, err := w.kubectlCommand(input, arguments...)
	if err != nil {
		w.t.Fatalf("kubectl %s: %v\n%s", strings.Join(arguments, " "), err, output)
	}
	return output
}

// kubectlOutput is for what a person should see whether it went well or not.
func (w *world) kubectlOutput(arguments ...string) string {
	output, err := w.kubectlCommand("", arguments...)
	if err != nil {
		return fmt.Sprintf("%s(%v)", output, err)
	}
	return output
}

func (w *world) kubectlCommand(input string, arguments ...string) (string, error) {
	// The test's own context has ended already when a clean-up calls this.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(w.cluster.Dir, "kubectl"),
		append([]string{"--kubeconfig", w.cluster.Kubeconfig(), "--namespace", w.namespace}, arguments...)...)
	command.Stdin = strings.NewReader(input)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err := command.Run()
	return output.String(), err
}

// runJob runs one container to its end, and returns its log and how the Job ended:
// "Complete", or the reason of its failure.
func (w *world) runJob(name string, container corev1.Container) (log, end string) {
	w.t.Helper()
	jobs := w.client.BatchV1().Jobs(w.namespace)
	container.Name, container.ImagePullPolicy = "job", corev1.PullNever
	none := int32(0)
	_, err := jobs.Create(w.t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{
			BackoffLimit: &none,
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{container},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.wait("the end of Job "+name, func() error {
		job, err := jobs.Get(w.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range job.Status.Conditions {
			if condition.Status != corev1.ConditionTrue {
				continue
			}
			switch condition.Type {
			case batchv1.JobComplete:
				end = "Complete"
				return nil
			case batchv1.JobFailed:
				end = condition.Reason
				return nil
			}
		}
		return fmt.Errorf("it has not ended: %+v", job.Status)
	})
	return w.kubectl("", "logs", "job/"+name), end
}
