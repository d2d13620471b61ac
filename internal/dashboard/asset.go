package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed asset
var assetFiles embed.FS

// asset is a file that pages load. Its address holds its digest, so a browser keeps it
// for ever and still gets the next release's.
type asset struct {
	name, contentType, address string
	content                    []byte
}

var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8",
}

var assets = readAssets()

func readAssets() map[string]asset {
	out := map[string]asset{}
	names, err := fs.Glob(assetFiles, "asset/*.*")
	if err != nil {
		panic(err) // the pattern above is wrong
	}
	for _, n := range names {
		content, err := assetFiles.ReadFile(n)
		if err != nil {
			panic(fmt.Sprintf("read the embedded %s: %v", n, err))
		}
		sum := sha256.Sum256(content)
		name := path.Base(n)
		out[name] = asset{
			name: name, content: content, contentType: assetTypes[path.Ext(n)],
			address: "/assets/" + hex.EncodeToString(sum[:6]) + "/" + name,
		}
	}
	return out
}

// assetAddress is where a page finds an asset.
func assetAddress(name string) string {
	a, ok := assets[name]
	if !ok {
		panic("no asset " + name)
	}
	return a.address
}

// serveAsset answers for one asset. A digest that is not this build's is answered too:
// during an upgrade an older replica's page may ask a newer one; but that answer is not
// kept.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	a, ok := assets[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("Content-Length", strconv.Itoa(len(a.content)))
	if strings.HasPrefix(a.address, "/assets/"+r.PathValue("digest")+"/") {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-store")
	}
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(a.content) // a browser that went away needs no answer
}

// htmxConfig is what the script on live pages is told. It keeps what readers have opened,
// adds no style of its own, and evaluates nothing: the page's policy forbids it.
const htmxConfig = `{"includeIndicatorCSS":false,"history":false,"morphIgnore":["data-htmx-powered","open"],"defaultTimeout":20000}`
