package objects

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"slipway.dev/slipway/internal/slipway"
)

// suite is what every store keeps.
func suite(t *testing.T, s Store) {
	ctx := t.Context()
	big := make([]byte, 3<<20)
	if _, err := rand.Read(big); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int64{"root/one/known": int64(len(big)), "root/one/unknown": -1} {
		n, err := s.Put(ctx, name, bytes.NewReader(big), size)
		if err != nil || n != int64(len(big)) {
			t.Fatalf("Put(%s) = %d, %v", name, n, err)
		}
		r, err := s.Open(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, big) {
			t.Errorf("%s came back as %d other bytes: %v", name, len(got), err)
		}
	}
	if _, err := s.Put(ctx, "root/one/known", strings.NewReader("again"), 5); err != nil {
		t.Errorf("a second Put: %v", err)
	}
	if r, err := s.Open(ctx, "root/one/known"); err != nil {
		t.Error(err)
	} else if got, err := io.ReadAll(r); err != nil || string(got) != "again" {
		t.Errorf("after a second Put it is %q: %v", got, err)
	}
	// What could not be read to its end has no name.
	if _, err := s.Put(ctx, "root/one/half", io.MultiReader(bytes.NewReader(big), failing{}), -1); err == nil {
		t.Error("a source that fails was written")
	}
	if _, err := s.Open(ctx, "root/one/half"); !slipway.Is(err, slipway.NotFound) {
		t.Errorf("half of a file can be opened: %v", err)
	}
	if _, err := s.Put(ctx, "root/one-other/file", strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	got, err := s.Remove(ctx, "root/one")
	if err != nil || got.Files != 2 {
		t.Errorf("Remove() = %+v, %v; want 2 files", got, err)
	}
	if _, err := s.Open(ctx, "root/one/known"); !slipway.Is(err, slipway.NotFound) {
		t.Errorf("after Remove: %v", err)
	}
	if _, err := s.Open(ctx, "root/one-other/file"); err != nil {
		t.Errorf("Remove of a folder took another whose name begins the same: %v", err)
	}
	if got, err := s.Remove(ctx, "root/never"); err != nil || got.Files != 0 {
		t.Errorf("Remove of nothing = %+v, %v", got, err)
	}
	for _, all := range []string{"", "/"} {
		if _, err := s.Remove(ctx, all); err == nil {
			t.Errorf("Remove(%q) would remove everything", all)
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the source broke") }

// World: a folder on this machine.
func TestFolder(t *testing.T) {
	t.Parallel()
	f, err := NewFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	suite(t, f)
	if _, err := f.Put(t.Context(), "../outside", strings.NewReader("x"), 1); err == nil {
		t.Error("a name leads out of the folder")
	}
}

// moto starts a real S3 server, that of Python's moto, with a bucket.
func moto(t *testing.T) slipway.S3Location {
	t.Helper()
	python, asked := os.LookupEnv("SLIPWAY_TEST_S3_PYTHON") // make test sets it, and then it must work
	if !asked {
		python = "python3"
		if err := exec.CommandContext(t.Context(), python, "-c", "import moto.server").Run(); err != nil {
			t.Skip("there is no S3 server on this machine; make test installs one")
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	cmd := exec.Command(python, "-m", "moto.server", "-H", "127.0.0.1", "-p", strconv.Itoa(port))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	loc := slipway.S3Location{Endpoint: "http://127.0.0.1:" + strconv.Itoa(port), Bucket: "backups", Region: "us-east-1"}
	for deadline := time.Now().Add(time.Minute); ; {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, loc.Endpoint+"/"+loc.Bucket, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return loc
			}
		} else if time.Now().After(deadline) {
			t.Fatalf("the S3 server does not answer: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// World: a real S3 server, moto's.
func TestS3(t *testing.T) {
	t.Parallel()
	loc := moto(t)
	s, err := NewS3(loc, "key", "secret")
	if err != nil {
		t.Fatal(err)
	}
	suite(t, s)

	// An upload whose process was killed is ended by Remove.
	core := minio.Core{Client: s.client}
	if _, err := core.NewMultipartUpload(t.Context(), loc.Bucket, "root/killed/file", minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Remove(t.Context(), "root/killed"); err != nil || got.Unfinished != 1 {
		t.Errorf("Remove() = %+v, %v; want one unfinished upload", got, err)
	}
	left := 0
	for u := range s.client.ListIncompleteUploads(t.Context(), loc.Bucket, "", true) {
		if u.Err != nil {
			t.Fatal(u.Err)
		}
		left++
	}
	if left != 0 {
		t.Errorf("%d uploads are still there", left)
	}

	elsewhere := loc
	elsewhere.Bucket = "nowhere"
	none, err := NewS3(elsewhere, "key", "the-secret-of-it")
	if err != nil {
		t.Fatal(err)
	}
	_, err = none.Put(t.Context(), "x", strings.NewReader("x"), 1)
	if err == nil || !strings.Contains(err.Error(), "there is no such bucket") || strings.Contains(err.Error(), "the-secret-of-it") {
		t.Errorf("a bucket that is not there: %v", err)
	}
	if !slipway.Is(err, slipway.NotFound) {
		t.Errorf("its kind is %s", slipway.KindOf(err))
	}
}

// World: a server in the test that cuts each answer short. The reading is taken up.
func TestAReadingThatBreaksIsTakenUp(t *testing.T) {
	t.Parallel()
	loc := moto(t)
	direct, err := NewS3(loc, "key", "secret")
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("0123456789"), 50_000)
	if _, err := direct.Put(t.Context(), "file", bytes.NewReader(content), int64(len(content))); err != nil {
		t.Fatal(err)
	}
	proxy := cutting(t, strings.TrimPrefix(loc.Endpoint, "http://"), 200_000)
	through := loc
	through.Endpoint = "http://" + proxy
	s, err := NewS3(through, "key", "secret")
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Open(t.Context(), "file")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("read %d of %d bytes: %v", len(got), len(content), err)
	}
}

// cutting forwards connections, and ends each after that many bytes of answer.
func cutting(t *testing.T, to string, limit int64) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(func() { stop(); l.Close() })
	go func() {
		for ctx.Err() == nil {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer in.Close()
				out, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer out.Close()
				go func() { _, _ = io.Copy(out, in) }() // it ends with the connection
				_, _ = io.CopyN(in, out, limit)         // and so does this
			}()
		}
	}()
	return l.Addr().String()
}
