package slipway

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// BackupConfig is the [backup] table of application.toml.
type BackupConfig struct {
	Location      string `json:"location"`                 // a backup location of the environment
	Schedule      string `json:"schedule,omitempty"`       // five fields of cron; empty: only when asked
	TimeZone      string `json:"time_zone,omitempty"`      // of the schedule; empty: UTC
	KeepLast      int    `json:"keep_last,omitempty"`      // the newest ones that retention keeps; 0: see Expired
	KeepDays      int    `json:"keep_days,omitempty"`      // the days for which retention keeps them
	BeforeUpgrade bool   `json:"before_upgrade,omitempty"` // back up before the hooks of each upgrade
}

// BackupLocation is a place for the backups of an environment. It holds no secret: the
// credentials are named, and are secrets of the environment.
type BackupLocation struct {
	ID            int64
	EnvironmentID int64
	Name          string
	Kind          LocationKind
	S3            S3Location     // of LocationS3
	Volume        VolumeLocation // of LocationVolume
	CreatedBy     string
	CreatedAt     time.Time
}

// LocationKind says what a backup location is.
type LocationKind string

const (
	LocationS3     LocationKind = "s3"
	LocationVolume LocationKind = "volume"
)

// S3Location is a bucket of an S3-compatible store.
type S3Location struct {
	Endpoint        string `json:"endpoint"` // https://s3.example.com; no path
	Bucket          string `json:"bucket"`
	Prefix          string `json:"prefix,omitempty"` // without a slash at either end
	Region          string `json:"region,omitempty"`
	AccessKeySecret string `json:"access_key_secret"` // the names of two secrets
	SecretKeySecret string `json:"secret_key_secret"`
	CA              string `json:"ca,omitempty"` // PEM; empty: the usual authorities
}

// VolumeLocation is a volume claim in the environment's namespace.
type VolumeLocation struct {
	Claim  string `json:"claim"`
	Prefix string `json:"prefix,omitempty"`
}

// String says where the location is, without a secret.
func (l BackupLocation) String() string {
	if l.Kind == LocationVolume {
		return path.Join("claim "+l.Volume.Claim, l.Volume.Prefix)
	}
	return l.S3.Endpoint + "/" + path.Join(l.S3.Bucket, l.S3.Prefix)
}

// Prefix is the folder in the location below which everything of ours stands.
func (l BackupLocation) Prefix() string {
	if l.Kind == LocationVolume {
		return l.Volume.Prefix
	}
	return l.S3.Prefix
}

// Backup is one backup of an application: files in a location, each with its checksum.
type Backup struct {
	ID            int64
	ApplicationID int64
	EnvironmentID int64
	Project       string
	Environment   string
	Application   string // its name
	LocationID    int64
	Location      string // its name
	Path          string // the folder of its files, unguessable, below the location's prefix
	AppVersion    string
	Driver        DriverRef
	DriverDigest  string
	Revision      int64
	State         BackupState
	Cause         BackupCause
	TaskID        int64
	Size          int64 // of all its files
	Files         []BackupFile
	Error         string // of a failed one
	By            string // who asked
	CreatedAt     time.Time
	TakenAt       time.Time // when it was complete
	ExpiresAt     time.Time // retention leaves it alone until then; zero: not by age
}

// Ref names the application as people do.
func (b Backup) Ref() string { return EnvironmentRef(b.Project, b.Environment) + "/" + b.Application }

// BackupFile is one file of a backup.
type BackupFile struct {
	Component string `json:"component"`
	Kind      string `json:"kind"`             // postgres or disk
	Volume    string `json:"volume,omitempty"` // of disk: the claim
	Name      string `json:"name"`             // below the backup's path
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
}

// BackupState moves in one direction; package reconcile/application alone moves it. Only a
// complete one can be restored, and it is complete only when every file is, with its
// checksum.
//
//	taking ─▶ complete ─▶ deleting ─▶ deleted
//	   └────▶ failed ───────┘
type BackupState string

const (
	BackupTaking   BackupState = "taking"
	BackupComplete BackupState = "complete"
	BackupFailed   BackupState = "failed" // files may be left; retention removes them
	BackupDeleting BackupState = "deleting"
	BackupDeleted  BackupState = "deleted"
)

// BackupMoves are the legal moves of a backup.
var BackupMoves = map[BackupState][]BackupState{
	BackupTaking:   {BackupComplete, BackupFailed},
	BackupComplete: {BackupDeleting},
	BackupFailed:   {BackupDeleting},
	BackupDeleting: {BackupDeleted},
}

// BackupCause says why a backup was taken.
type BackupCause string

const (
	BackupAsked     BackupCause = "asked"    // by a person; retention never removes it
	BackupScheduled BackupCause = "schedule" // its time had come
	BackupUpgrade   BackupCause = "upgrade"  // before an upgrade
)

// ComponentBackup says how a component's data is backed up.
type ComponentBackup struct {
	Kind    BackupKind `json:"kind"`
	Order   int        `json:"order,omitempty"`   // lower ones first; then by name
	Volumes []string   `json:"volumes,omitempty"` // of disk: volumes of the pod template
	Stop    bool       `json:"stop,omitempty"`    // stop the component meanwhile
	URLEnv  string     `json:"urlEnv,omitempty"`  // of postgres: the variable with the database's URL
	Image   string     `json:"image,omitempty"`   // of postgres: has pg_dump; empty: the component's own
}

// BackupKind is a strategy.
type BackupKind string

const (
	BackupDisk     BackupKind = "disk"
	BackupPostgres BackupKind = "postgres"
	BackupAction   BackupKind = "action" // an action of the backup hook does it
)

// ByAction reports whether an action of the driver does it: the strategy says so, or is one
// that this slipway does not have.
func (k BackupKind) ByAction() bool { return k != BackupDisk && k != BackupPostgres }

// BackedUp is a component that is backed up.
type BackedUp struct {
	Name string
	Component
}

// BackedUp lists the components that are backed up, in their order.
func (d DriverSpec) BackedUp() []BackedUp {
	var out []BackedUp
	for name, c := range d.Components {
		if c.Backup != nil {
			out = append(out, BackedUp{name, c})
		}
	}
	slices.SortFunc(out, func(a, b BackedUp) int {
		if a.Backup.Order != b.Backup.Order {
			return a.Backup.Order - b.Backup.Order
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

// CanBackUp reports whether the driver says how to back anything up.
func (d DriverSpec) CanBackUp() bool {
	return len(d.BackedUp()) > 0 || len(d.ActionsOf(BackupHook, Core)) > 0
}

// Expired lists the backups that retention may remove: complete ones that were not asked
// for by a person, that are not among the newest keepLast, and that are older than
// keepDays. A rule that is 0 keeps nothing by itself; with both at 0 everything is kept.
// The newest complete backup is never among them, whatever the rules say, and whoever
// asked for it: it is what there is to come back to.
func Expired(backups []Backup, keepLast, keepDays int, now time.Time) []Backup {
	if keepLast <= 0 && keepDays <= 0 {
		return nil
	}
	var complete []Backup
	for _, b := range backups {
		if b.State == BackupComplete {
			complete = append(complete, b)
		}
	}
	slices.SortFunc(complete, func(a, b Backup) int {
		if c := b.TakenAt.Compare(a.TakenAt); c != 0 {
			return c
		}
		return int(b.ID - a.ID)
	})
	var out []Backup
	counted := 0
	for i, b := range complete {
		if b.Cause == BackupAsked {
			continue
		}
		counted++
		young := keepDays > 0 && now.Sub(b.TakenAt) < time.Duration(keepDays)*24*time.Hour
		if i > 0 && counted > keepLast && !young {
			out = append(out, b)
		}
	}
	return out
}

// Restore is one restore of a backup into an application. A restore has a task, and what
// it remembers beyond that is here.
type Restore struct {
	TaskID        int64
	BackupID      int64
	ApplicationID int64
	Context       []byte // the frozen GlobalContext of its actions
}

// RestoreHint says what people do about a restore that failed.
func RestoreHint(application string, backup int64) string {
	return fmt.Sprintf("the backup is intact; remove the cause, then run  slipway restore %s --from %d  again", application, backup)
}
