package slipway

// MoveOrder is what the mover is told to do: the program that carries the bytes of a
// backup between the cluster and a location. It runs in a Job beside the data; the order
// comes in its environment, and the credentials, which are not part of it, in files.
type MoveOrder struct {
	Do     MoveKind     `json:"do"`
	Kind   LocationKind `json:"kind"`
	S3     S3Location   `json:"s3,omitzero"`
	Root   string       `json:"root,omitempty"`   // of a volume: where the claim is mounted
	Object string       `json:"object,omitempty"` // of put and get: below the location's bucket or claim
	// Files are what verify, get and remove are about: object → what it must be.
	Files  []MoveFile `json:"files,omitempty"`
	Prefix string     `json:"prefix,omitempty"` // of remove: everything below it
	Path   string     `json:"path,omitempty"`   // of put and get: a file, or with Tree a folder
	Tree   bool       `json:"tree,omitempty"`
}

// MoveFile is an object with what is known of it.
type MoveFile struct {
	Object string `json:"object"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// MoveKind is one of the mover's verbs.
type MoveKind string

const (
	MovePut    MoveKind = "put"    // Path to Object; an object that is there is replaced
	MoveGet    MoveKind = "get"    // Files[0] to Path, after its checksum was found right
	MoveVerify MoveKind = "verify" // the checksums of Files
	MoveRemove MoveKind = "remove" // everything below Prefix, also uploads that never ended
)

// MoveResult is what the mover leaves as its container's last message, as JSON.
type MoveResult struct {
	Size    int64    `json:"size"`
	SHA256  string   `json:"sha256"`
	Objects int      `json:"objects"`           // removed or verified
	Uploads int      `json:"uploads,omitempty"` // unfinished ones that were ended
	Notes   []string `json:"notes,omitempty"`
	Error   string   `json:"error,omitempty"` // in words; with an exit code other than 0
}

// Where the mover finds what its Job gives it.
const (
	MoverOrder       = "SLIPWAY_MOVE_ORDER"
	MoverFolder      = "/slipway"
	MoverFiles       = MoverFolder + "/files"       // shared by the containers of the Job
	MoverCredentials = MoverFolder + "/credentials" // access-key, secret-key
	MoverStore       = MoverFolder + "/store"       // the claim of a volume location
	MoverData        = MoverFolder + "/data"        // the volume of a component
	MoverResult      = "/dev/termination-log"
)
