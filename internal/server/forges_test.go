package server

import (
	"errors"
	"net/http"
	"testing"
)

// World: pure.
func TestRequestsToForgesAreCountedByTheirOutcome(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		code   int
		header http.Header
		err    error
		want   string
	}{
		{200, nil, nil, forgeOK}, {302, nil, nil, forgeOK}, {304, nil, nil, forgeUnchanged}, {404, nil, nil, forgeRefused}, {403, nil, nil, forgeRefused},
		{403, http.Header{"Retry-After": {"60"}}, nil, forgeThrottled}, {403, http.Header{"X-Ratelimit-Remaining": {"0"}}, nil, forgeThrottled}, {429, nil, nil, forgeThrottled},
		{502, nil, nil, forgeFault}, {0, nil, errors.New("no route"), forgeNoAnswer},
	} {
		var res *http.Response
		if tc.err == nil {
			res = &http.Response{StatusCode: tc.code, Header: tc.header}
		}
		if got := forgeOutcome(res, tc.err); got != tc.want {
			t.Errorf("%d %v %v: %s, want %s", tc.code, tc.header, tc.err, got, tc.want)
		}
	}
}
