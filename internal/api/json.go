package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/danielgtaylor/huma/v2"
)

// strictJSON refuses a key that stands twice in an object. The decoder would take the
// last, and a proxy that checks requests may take the first.
var strictJSON = huma.Format{
	Marshal: huma.DefaultJSONFormat.Marshal,
	Unmarshal: func(data []byte, v any) error {
		if err := json.Unmarshal(data, v); err != nil {
			return err
		}
		return noDuplicates(json.NewDecoder(bytes.NewReader(data)), 0)
	},
}

// maxDepth is deeper than any of our bodies.
const maxDepth = 64

// noDuplicates reads one value.
func noDuplicates(d *json.Decoder, depth int) error {
	if depth > maxDepth {
		return errors.New("it is nested too deeply")
	}
	t, err := d.Token()
	if err != nil {
		return err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			name, _ := key.(string)
			if seen[name] {
				return fmt.Errorf("a key stands twice in one object")
			}
			seen[name] = true
		}
		if err := noDuplicates(d, depth+1); err != nil {
			return err
		}
	}
	_, err = d.Token() // the closing bracket
	return err
}
