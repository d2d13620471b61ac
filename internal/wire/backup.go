package wire

import "time"

// BackupLocation is a place for the backups of an environment.
type BackupLocation struct {
	Name      string          `json:"name" example:"nightly"`
	Kind      string          `json:"kind" enum:"s3,volume"`
	Where     string          `json:"where" doc:"The place in one line."`
	S3        *S3Location     `json:"s3,omitempty" doc:"Of the kind s3."`
	Volume    *VolumeLocation `json:"volume,omitempty" doc:"Of the kind volume."`
	UsedBy    []string        `json:"used_by,omitempty" nullable:"false" doc:"The applications that name it."`
	CreatedBy string          `json:"created_by"`
	CreatedAt time.Time       `json:"created_at"`
}

// NewBackupLocation asks for a place for backups.
type NewBackupLocation struct {
	Name   string          `json:"name" minLength:"1" maxLength:"40" example:"nightly"`
	Kind   string          `json:"kind" enum:"s3,volume"`
	S3     *S3Location     `json:"s3,omitempty" doc:"Of the kind s3."`
	Volume *VolumeLocation `json:"volume,omitempty" doc:"Of the kind volume."`
}

// S3Location is a bucket of an S3-compatible store. Its credentials are secrets of the
// environment, named here.
type S3Location struct {
	Endpoint        string `json:"endpoint" maxLength:"300" example:"https://s3.example.com"`
	Bucket          string `json:"bucket" maxLength:"63" example:"shop-backups"`
	Prefix          string `json:"prefix,omitempty" maxLength:"200" doc:"A folder in the bucket."`
	Region          string `json:"region,omitempty" maxLength:"40"`
	AccessKeySecret string `json:"access_key_secret" maxLength:"40" doc:"The secret that holds the access key's ID."`
	SecretKeySecret string `json:"secret_key_secret" maxLength:"40" doc:"The secret that holds the secret access key."`
	CA              string `json:"ca,omitempty" maxLength:"65536" doc:"The certificate of the store's authority, PEM; absent: the usual ones."`
}

// VolumeLocation is a volume claim in the environment's namespace.
type VolumeLocation struct {
	Claim  string `json:"claim" maxLength:"253" example:"backups"`
	Prefix string `json:"prefix,omitempty" maxLength:"200" doc:"A folder on the volume."`
}

// Backup is one backup of an application.
type Backup struct {
	ID            int64        `json:"id"`
	ApplicationID int64        `json:"application_id"`
	Application   string       `json:"application" example:"shop/production/guestbook"`
	Location      string       `json:"location"`
	Path          string       `json:"path" doc:"The folder of its files, in the location."`
	State         string       `json:"state" enum:"taking,complete,failed,deleting,deleted"`
	Cause         string       `json:"cause" enum:"asked,schedule,upgrade" doc:"Retention never removes one that was asked for."`
	AppVersion    string       `json:"app_version"`
	DriverName    string       `json:"driver_name"`
	DriverVersion string       `json:"driver_version"`
	DriverDigest  string       `json:"driver_digest"`
	Revision      int64        `json:"revision"`
	Size          int64        `json:"size" doc:"Bytes of all its files."`
	Files         []BackupFile `json:"files" nullable:"false"`
	Error         string       `json:"error,omitempty"`
	TaskID        int64        `json:"task_id,omitempty"`
	By            string       `json:"by"`
	CreatedAt     time.Time    `json:"created_at"`
	TakenAt       *time.Time   `json:"taken_at,omitempty" doc:"When it was complete."`
	ExpiresAt     *time.Time   `json:"expires_at,omitempty" doc:"Retention leaves it alone until then."`
}

// BackupFile is one file of a backup.
type BackupFile struct {
	Component string `json:"component"`
	Kind      string `json:"kind" enum:"postgres,disk"`
	Volume    string `json:"volume,omitempty"`
	Name      string `json:"name" doc:"Below the backup's path."`
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
}

// NewBackup asks for a backup.
type NewBackup struct {
	Location string `json:"location,omitempty" maxLength:"40" doc:"Absent: the one that the application names, or the environment's only one."`
}

// RestoreFrom names the backup of a restore.
type RestoreFrom struct {
	Backup  int64  `json:"backup" minimum:"1"`
	Confirm string `json:"confirm,omitempty" maxLength:"40" doc:"The application's name: a restore overwrites what is there. A plan needs none."`
}

// RestorePlan says what a restore would do. Asking for it writes nothing.
type RestorePlan struct {
	Application string   `json:"application"`
	Name        string   `json:"name"`
	Version     string   `json:"version" doc:"The application's version now."`
	Backup      Backup   `json:"backup"`
	Overwrites  []string `json:"overwrites" nullable:"false" doc:"What is lost."`
	Stops       []string `json:"stops" nullable:"false" doc:"The components that are stopped meanwhile."`
	Actions     []string `json:"actions" nullable:"false" doc:"The driver's actions that run."`
	Warnings    []string `json:"warnings,omitempty" nullable:"false"`
}
