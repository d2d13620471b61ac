package fake

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
)

// files are what a configuration holds, as GitHub's: the files that its runner finds in
// its folder. The key stands where GitHub's has the runner's private one.
type files struct {
	Runner      []byte `json:".runner"`
	Credentials []byte `json:".credentials"`
	Key         []byte `json:".credentials_rsaparams"`
}

type runnerFile struct {
	ID        string `json:"AgentId"`
	Name      string `json:"AgentName"`
	PoolID    string `json:"PoolId"`
	PoolName  string `json:"PoolName"`
	Ephemeral string `json:"Ephemeral"`
	ServerURL string `json:"ServerUrl"`
	GitHubURL string `json:"GitHubUrl"`
	Folder    string `json:"WorkFolder"`
}

// configure is the secret of a registration.
func (g *GitHub) configure(r *runner) string {
	in := runnerFile{
		ID: strconv.FormatInt(r.ID, 10), Name: r.Name, PoolID: strconv.FormatInt(r.Group, 10), PoolName: "Default", Ephemeral: "True",
		ServerURL: g.url, GitHubURL: g.url + "/" + r.scope.Owner, Folder: "_work",
	}
	if r.scope.Repository != "" {
		in.GitHubURL += "/" + r.scope.Repository
	}
	f := files{
		Runner: mustJSON(in), Key: mustJSON(map[string]string{"d": r.key}),
		Credentials: mustJSON(map[string]any{"Scheme": "OAuth", "Data": map[string]string{"ClientId": "00000000-0000-4000-8000-" + fmt.Sprintf("%012x", r.ID)}}),
	}
	return base64.StdEncoding.EncodeToString(mustJSON(f))
}

func mustJSON(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain values
	}
	return raw
}

// Server reads from a configuration where its runner is to report.
func Server(config string) (*url.URL, error) {
	in, _, err := read(config)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(in.ServerURL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("the configuration names no server that runners can reach")
	}
	return u, nil
}

func read(config string) (in runnerFile, key string, err error) {
	raw, err := base64.StdEncoding.DecodeString(config)
	if err != nil {
		return in, "", fmt.Errorf("the configuration is not base64: %w", err)
	}
	var f files
	var k struct {
		Key string `json:"d"`
	}
	if err = json.Unmarshal(raw, &f); err == nil {
		err = json.Unmarshal(f.Runner, &in)
	}
	if err == nil {
		err = json.Unmarshal(f.Key, &k)
	}
	if err != nil {
		return in, "", fmt.Errorf("the configuration cannot be read: %w", err)
	}
	return in, k.Key, nil
}

// configGoodFor is how long GitHub takes a configuration.
const configGoodFor = time.Hour

// takeUp brings the runner of a configuration online.
func (g *GitHub) takeUp(config string) (*runner, error) {
	in, key, err := read(config)
	var id int64
	if err == nil {
		id, err = strconv.ParseInt(in.ID, 10, 64)
	}
	r := g.runners[id]
	if err != nil || r == nil || r.key == "" || r.key != key || g.now().Sub(r.made) > configGoodFor {
		return nil, forge.Fail(forge.Refused, "the configuration was used, has ended, or is none", "", err)
	}
	r.key, r.Online = "", true
	return r, nil
}
