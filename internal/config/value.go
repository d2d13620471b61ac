package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// set parses text into the key's field. The message says what to write; it repeats the
// text only where it cannot hold a secret.
func (k Key) set(c *Config, text string) error {
	v := k.field(c)
	if len(k.OneOf) > 0 && !slices.Contains(k.OneOf, text) {
		return fmt.Errorf("%q is not one of %s", text, strings.Join(k.OneOf, ", "))
	}
	switch v.Interface().(type) {
	case Duration:
		d, err := parseDuration(text)
		if err != nil {
			return err
		}
		if err := k.inRange(int64(d), func(s string) int64 { d, _ := parseDuration(s); return int64(d) }); err != nil {
			return err
		}
		v.SetInt(int64(d))
	case Bytes:
		n, err := parseBytes(text)
		if err != nil {
			return err
		}
		if err := k.inRange(n, func(s string) int64 { n, _ := parseBytes(s); return n }); err != nil {
			return err
		}
		v.SetInt(n)
	case int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		if err := k.inRange(n, func(s string) int64 { n, _ := strconv.ParseInt(s, 10, 64); return n }); err != nil {
			return err
		}
		v.SetInt(n)
	case bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		v.SetBool(b)
	case []string:
		var list []string
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		v.Set(reflect.ValueOf(list))
	default:
		v.SetString(text)
	}
	return nil
}

func (k Key) inRange(n int64, parse func(string) int64) error {
	switch {
	case k.min != "" && n < parse(k.min):
		return fmt.Errorf("it is less than the least allowed, %s", k.min)
	case k.max != "" && n > parse(k.max):
		return fmt.Errorf("it is more than the most allowed, %s", k.max)
	}
	return nil
}

func parseDuration(s string) (Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a length of time such as 30s, 10m or 1h30m", s)
	}
	if d < 0 {
		return 0, fmt.Errorf("%q is less than nothing", s)
	}
	return Duration(d), nil
}

// String writes 10m, not 10m0s.
func (d Duration) String() string {
	s := time.Duration(d).String()
	if m, ok := strings.CutSuffix(s, "m0s"); ok {
		s = m + "m"
	}
	if h, ok := strings.CutSuffix(s, "h0m"); ok {
		s = h + "h"
	}
	return s
}

// MarshalText writes the duration as the file has it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

var units = []struct {
	suffix string
	size   int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}, {"", 1}}

func parseBytes(s string) (int64, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > (1<<62)/u.size {
			break
		}
		return n * u.size, nil
	}
	return 0, fmt.Errorf("%q is not a size such as 1048576, 512KiB or 10MiB", s)
}

func (b Bytes) String() string {
	for _, u := range []int{2, 1, 0} {
		if n := int64(b); n > 0 && n%units[u].size == 0 {
			return strconv.FormatInt(n/units[u].size, 10) + units[u].suffix
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// MarshalText writes the size as the file has it.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }
