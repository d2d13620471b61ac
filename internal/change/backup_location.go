package change

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// CreateBackupLocationInput asks for a place for the backups of an environment.
type CreateBackupLocationInput struct {
	Project        string
	Environment    string
	Name           string
	Kind           slipway.LocationKind
	S3             slipway.S3Location
	Volume         slipway.VolumeLocation
	IdempotencyKey string
}

// CreateBackupLocation makes a location. Nothing is written there before the first backup.
// Who may write in the environment may.
func (s *Service) CreateBackupLocation(ctx context.Context, c slipway.Caller, in CreateBackupLocationInput) (slipway.BackupLocation, error) {
	if err := need(c, slipway.ReadWrite); err != nil {
		return slipway.BackupLocation{}, err
	}
	in.S3.Prefix, in.Volume.Prefix = strings.Trim(in.S3.Prefix, "/"), strings.Trim(in.Volume.Prefix, "/")
	in.S3.Endpoint = strings.TrimSuffix(in.S3.Endpoint, "/")
	if err := checkLocation(in); err != nil {
		return slipway.BackupLocation{}, err
	}
	r := request{c, in.IdempotencyKey, "backup-location.create", []any{in.Project, in.Environment, in.Name, in.Kind, in.S3, in.Volume}}
	l, _, err := once(ctx, s.Store, r, func(tx *store.Tx) (l slipway.BackupLocation, err error) {
		e, err := environment(ctx, tx, c, in.Project, in.Environment)
		if err != nil {
			return l, err
		}
		if in.Kind == slipway.LocationS3 {
			if err := secretsThere(ctx, tx, e, in.S3); err != nil {
				return l, err
			}
		}
		l, err = tx.CreateBackupLocation(ctx, slipway.BackupLocation{EnvironmentID: e.ID, Name: in.Name, Kind: in.Kind, S3: in.S3, Volume: in.Volume, CreatedBy: c.UserName})
		if err != nil {
			return l, err
		}
		return l, record(ctx, tx, c, deed{"backup-location.create", "backup-location", l.ID, e.Ref() + "/" + l.Name, nil, facts{"kind": l.Kind, "where": l.String()}})
	})
	return l, err
}

// secretsThere refuses names that stand for nothing: the first backup would find out at
// night.
func secretsThere(ctx context.Context, tx *store.Tx, e slipway.Environment, l slipway.S3Location) error {
	var f faults
	for _, x := range []struct{ path, name string }{{"s3.access_key_secret", l.AccessKeySecret}, {"s3.secret_key_secret", l.SecretKeySecret}} {
		_, err := tx.Secret(ctx, e.ID, x.name)
		if slipway.Is(err, slipway.NotFound) {
			f.add(x.path, fmt.Sprintf("there is no secret %q in %s", x.name, e.Ref()), "set it with  slipway secrets set "+x.name+" -e "+e.Ref())
		} else if err != nil {
			return err
		}
	}
	return f.err("the backup location")
}

var (
	bucketPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	prefixPattern = regexp.MustCompile(`^[A-Za-z0-9!_.*'()/-]{0,200}$`)
	regionPattern = regexp.MustCompile(`^[A-Za-z0-9-]{0,40}$`)
	claimPattern  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
)

func checkLocation(in CreateBackupLocationInput) error {
	var f faults
	f.is("name", slipway.CheckName("a backup location", in.Name))
	switch in.Kind {
	case slipway.LocationS3:
		checkEndpoint(&f, in.S3.Endpoint)
		if !bucketPattern.MatchString(in.S3.Bucket) {
			f.add("s3.bucket", fmt.Sprintf("%q cannot name a bucket", in.S3.Bucket), "use lower-case letters, digits, dots and hyphens, from 3 to 63")
		}
		checkPrefix(&f, "s3.prefix", in.S3.Prefix)
		if !regionPattern.MatchString(in.S3.Region) {
			f.add("s3.region", fmt.Sprintf("%q cannot name a region", in.S3.Region), "write it as eu-central-1, or leave it out")
		}
		f.is("s3.access_key_secret", slipway.CheckName("a secret", in.S3.AccessKeySecret))
		f.is("s3.secret_key_secret", slipway.CheckName("a secret", in.S3.SecretKeySecret))
		checkCA(&f, in.S3.CA)
	case slipway.LocationVolume:
		if !claimPattern.MatchString(in.Volume.Claim) {
			f.add("volume.claim", fmt.Sprintf("%q cannot name a volume claim", in.Volume.Claim), "name a PersistentVolumeClaim in the environment's namespace")
		}
		checkPrefix(&f, "volume.prefix", in.Volume.Prefix)
	default:
		f.add("kind", fmt.Sprintf("%q is no kind of location", in.Kind), "write s3 or volume")
	}
	return f.err("the backup location")
}

func checkEndpoint(f *faults, endpoint string) {
	u, err := url.Parse(endpoint)
	switch {
	case endpoint == "":
		f.add("s3.endpoint", "it is missing", "write https://s3.example.com")
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		// Not quoted: what people paste here may hold a password.
		f.add("s3.endpoint", "it is no address", "write https://s3.example.com")
	case u.User != nil:
		f.add("s3.endpoint", "it holds a user or a password", "store them as secrets, and name those")
	case u.Path != "" || u.RawQuery != "" || u.Fragment != "":
		f.add("s3.endpoint", "it has more than a host", "write the bucket as the bucket, and a folder as the prefix")
	}
}

func checkPrefix(f *faults, at, prefix string) {
	if !prefixPattern.MatchString(prefix) || prefix != "" && path.Clean("/"+prefix) != "/"+prefix {
		f.add(at, fmt.Sprintf("%q cannot be a folder", prefix), "use letters, digits and - _ . /, without . or .. as a part")
	}
}

func checkCA(f *faults, ca string) {
	if ca == "" {
		return
	}
	block, _ := pem.Decode([]byte(ca))
	if block == nil || block.Type != "CERTIFICATE" {
		f.add("s3.ca", "it is no certificate in PEM", "give the certificate of the authority, not its key")
		return
	}
	if _, err := x509.ParseCertificate(block.Bytes); err != nil {
		f.add("s3.ca", "its certificate cannot be read", "give the certificate of the authority, in PEM")
	}
}

// DeleteBackupLocation removes a location that no application names and no backup is in.
func (s *Service) DeleteBackupLocation(ctx context.Context, c slipway.Caller, project, env, name string) error {
	if err := need(c, slipway.ReadWrite); err != nil {
		return err
	}
	return s.Store.InTx(ctx, func(tx *store.Tx) error {
		e, err := environment(ctx, tx, c, project, env)
		if err != nil {
			return err
		}
		l, err := tx.BackupLocationByName(ctx, e.ID, name)
		if err != nil {
			return err
		}
		uses, err := tx.BackupLocationUses(ctx, l)
		if err != nil {
			return err
		}
		if len(uses) > 0 {
			return slipway.Errorf(slipway.Conflict, "the backup location %s is used by %s", name, strings.Join(uses, ", ")).
				WithHint("take it out of the [backup] of their application.toml and deploy them first")
		}
		if err := tx.DeleteBackupLocation(ctx, l.ID); err != nil {
			return err
		}
		return record(ctx, tx, c, deed{"backup-location.delete", "backup-location", l.ID, e.Ref() + "/" + name, facts{"kind": l.Kind, "where": l.String()}, nil})
	})
}
