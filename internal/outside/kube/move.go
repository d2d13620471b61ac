package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/internal/slipway"
)

// DefaultMoveTimeout bounds one carriage of a backup's bytes.
const DefaultMoveTimeout = 12 * time.Hour

// MoveSpec is one carriage of a backup's bytes: a Job with the mover and, for a database,
// a container with the database's own programs before or after it. The two share a folder
// and nothing else: the credentials of the location are in the mover's container alone,
// those of the database in the other alone.
type MoveSpec struct {
	App      slipway.Application
	TaskID   int64
	TaskKind slipway.TaskKind
	StepID   int64

	Name        string // unique for the task and what it moves; see MoveName
	Image       string // has the mover
	Order       slipway.MoveOrder
	Credentials map[string][]byte // file → content; none for a volume
	Timeout     time.Duration

	StoreClaim string // of a volume location: the claim that is the location

	Claim string    // the component's volume claim, mounted where the order's path is; empty: none
	Node  string    // where that claim is in use; empty: anywhere
	Like  *Workload // whose tolerations the pod gets

	Database *DatabaseSpec
}

// DatabaseSpec is the container with the database's programs.
type DatabaseSpec struct {
	From      Workload // whose environment it gets
	Container string
	Env       []EnvVar
	Image     string
	Script    string // for sh
	Set       map[string]string
}

// MoveName names the Job of a carriage: the release is cut, and the rest told apart by a
// hash, so that the names of pods stay within 63 characters.
func MoveName(release string, task int64, what string) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%s/%d/%s", release, task, what)))
	const longest = 52
	tail := fmt.Sprintf("-backup-%d-%s", task, hex.EncodeToString(sum[:4]))
	if over := len(release) + len(tail) - longest; over > 0 {
		release = strings.TrimRight(release[:max(1, len(release)-over)], "-.")
	}
	return release + tail
}

const (
	moverContainer    = "mover"
	databaseContainer = "database"

	volumeFiles       = "files"
	volumeCredentials = "credentials"
	volumeStore       = "store"
	volumeData        = "data"
)

// moverUser is who the mover is where it needs nobody's files.
const moverUser = 65532

// BuildMove makes the Job. It calls nobody.
func BuildMove(s MoveSpec) (*batchv1.Job, error) {
	if s.Image == "" {
		return nil, slipway.Errorf(slipway.Unavailable, "there is no image with the mover, so nothing can be backed up or restored").
			WithHint("set backup.image in slipway.toml to the image of this Slipway")
	}
	order, err := json.Marshal(s.Order)
	if err != nil {
		return nil, fmt.Errorf("write the order of the Job %s: %w", s.Name, err)
	}
	marks := ApplicationLabels(s.App)
	maps.Copy(marks, map[string]string{
		LabelManagedBy: managedBy, LabelRole: roleAction, LabelTask: decimal(s.TaskID), LabelStep: decimal(s.StepID),
	})
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: marks, Annotations: map[string]string{
			"sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled",
		}},
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: new(bool)},
	}
	mover := s.mover(string(order), &pod.Spec)
	if s.Like != nil {
		pod.Spec.Tolerations = s.Like.template.Spec.Tolerations
	}
	if s.Node != "" {
		pod.Spec.Affinity = onNode(s.Node)
	}
	if err := s.arrange(mover, &pod.Spec); err != nil {
		return nil, err
	}
	seconds := max(1, int64(orDefault(s.Timeout, DefaultMoveTimeout)/time.Second))
	sum := sha256.Sum256([]byte(s.Name))
	return &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.App.Namespace, Name: s.Name, Labels: maps.Clone(marks),
			// The name says it all: a repeat of the step finds its own Job, also when the
			// component's pod has moved meanwhile.
			Annotations: map[string]string{annotationCall: s.Name, annotationTaskKind: string(s.TaskKind), annotationSpecHash: hex.EncodeToString(sum[:])},
		},
		Spec: batchv1.JobSpec{
			Parallelism: new(int32(1)), Completions: new(int32(1)), BackoffLimit: new(int32(0)),
			ActiveDeadlineSeconds: &seconds, Template: pod,
		},
	}, nil
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// arrange puts the containers in their order: what writes the shared folder is the init
// container, so that the other never sees half of it.
func (s MoveSpec) arrange(mover corev1.Container, pod *corev1.PodSpec) error {
	if s.Database == nil {
		pod.Containers = []corev1.Container{mover}
		return nil
	}
	database, err := s.database(pod)
	if err != nil {
		return err
	}
	first, last := database, mover
	if s.Order.Do == slipway.MoveGet {
		first, last = mover, database
	}
	last.Name, pod.InitContainers = actionContainer, []corev1.Container{first}
	if s.Order.Do == slipway.MoveGet {
		pod.InitContainers[0].Name = moverContainer
	}
	pod.Containers = []corev1.Container{last}
	return nil
}

// mover is the container that reaches the location.
func (s MoveSpec) mover(order string, pod *corev1.PodSpec) corev1.Container {
	c := container{corev1.Container{
		Name: actionContainer, Image: s.Image, Command: []string{"slipway", "mover"},
		Env: []corev1.EnvVar{{Name: slipway.MoverOrder, Value: order}},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(bool), ReadOnlyRootFilesystem: new(true), RunAsNonRoot: new(true),
			RunAsUser: new(int64(moverUser)), RunAsGroup: new(int64(moverUser)), Privileged: new(bool),
			Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}}
	mount := func(name, path string, readOnly bool, from corev1.VolumeSource) {
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: from})
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path, ReadOnly: readOnly})
	}
	if s.Database != nil {
		mount(volumeFiles, slipway.MoverFiles, false, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	}
	if len(s.Credentials) > 0 {
		mount(volumeCredentials, slipway.MoverCredentials, true, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: s.Name}})
	}
	if s.Order.Kind == slipway.LocationVolume {
		mount(volumeStore, slipway.MoverStore, false, claim(s.StoreClaim))
		c.asRoot("DAC_OVERRIDE")
	}
	if s.Claim != "" {
		reads := s.Order.Do == slipway.MovePut
		mount(volumeData, slipway.MoverData, reads, claim(s.Claim))
		if reads {
			c.asRoot("DAC_READ_SEARCH")
		} else {
			c.asRoot("CHOWN", "FOWNER", "FSETID", "DAC_OVERRIDE")
		}
	}
	return c.Container
}

// container is one that is being made.
type container struct{ corev1.Container }

// asRoot lets the container see files of any owner, and nothing beyond the capabilities
// that it names.
func (c *container) asRoot(capabilities ...corev1.Capability) {
	sc := c.SecurityContext
	sc.RunAsNonRoot, sc.RunAsUser, sc.RunAsGroup = new(bool), new(int64), new(int64)
	sc.Capabilities.Add = append(sc.Capabilities.Add, capabilities...)
}

func claim(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

// onNode keeps the pod where the claim is in use: most claims are of one node at a time.
func onNode(name string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{name}}},
		}},
	}}}
}

// database is the container with the database's programs and the component's environment.
func (s MoveSpec) database(pod *corev1.PodSpec) (corev1.Container, error) {
	d := s.Database
	from := d.From.environmentOf(d.Container)
	if from == nil {
		return corev1.Container{}, noContainer(d.From, d.Container)
	}
	volumes := pod.Volumes
	likePod(pod, &d.From.template)
	pod.Volumes, pod.AutomountServiceAccountToken = volumes, new(bool) // it needs no word with the cluster
	c := corev1.Container{
		Name: databaseContainer, Image: d.Image, Command: []string{"sh", "-c", d.Script},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             []corev1.VolumeMount{{Name: volumeFiles, MountPath: slipway.MoverFiles}},
	}
	likeContainer(&c, from)
	c.WorkingDir = "" // of the server: it may not be there in another image
	set := d.Env
	for _, name := range sortedNames(d.Set) {
		set = append(set, EnvVar{Name: name, Value: d.Set[name]})
	}
	c.Env = MergeEnv(from.Env, set)
	return c, nil
}
