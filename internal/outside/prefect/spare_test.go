package prefect

import (
	"os"
	"strings"
	"testing"
)

// TestASpareThatFailsCostsTimeOnly: whatever the spare does, the run is started once. The
// script stands for the interpreter: warm with spare.py as its argument, else cold.
func TestASpareThatFailsCostsTimeOnly(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, warm, want string }{
		{"it takes the run", `echo ready >&3; read -r job; echo taken >&3; exec 3>&-; echo "warm $job" >"$OUT"`, "warm"},
		{"it dies before it is ready", `exit 1`, "cold"},
		{"it dies with the run", `echo ready >&3; read -r job; exit 1`, "cold"},
		{"it says something else", `echo ready >&3; read -r job; echo what >&3; sleep 60`, "cold"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			r := fakeRunner(t, f, `case "$1" in */spare.py) OUT="${0%/*}/said"; `+tc.warm+` ;; *) echo cold >"${0%/*}/said" ;; esac`)
			s, err := r.startSpare()
			if err != nil {
				t.Fatal(err)
			}
			r.spare.spare = s
			id := f.add(Scheduled)
			p := mustStart(t, r, id, fakeLaunch(t))
			if err := p.awaitEnd(t.Context()); err != nil {
				t.Fatal(err)
			}
			said, err := os.ReadFile(r.Python.bin() + "/said")
			if err != nil || !strings.HasPrefix(string(said), tc.want) {
				t.Errorf("the process said %q, %v; want %s", said, err, tc.want)
			}
			if tc.want == "warm" && !strings.Contains(string(said), `"SLIPWAY_TOKEN":"slw_token"`) {
				t.Errorf("the spare was told %q", said)
			}
			if tc.want == "warm" != (s.process.PID == p.PID) {
				t.Errorf("the run is in process %d, the spare was %d", p.PID, s.process.PID)
			}
			record, err := readRecord(strings.TrimSuffix(p.Output, "/output.log"), id)
			if err != nil || record.Process != p {
				t.Errorf("what was written down is %+v, %v; want %+v", record.Process, err, p)
			}
		})
	}
}

func TestASpareWithOtherSettingsIsDropped(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := fakeRunner(t, f, `case "$1" in */spare.py) echo ready >&3; read -r job && echo taken >&3 ;; *) echo cold ;; esac`)
	s, err := r.startSpare()
	if err != nil {
		t.Fatal(err)
	}
	s.prefect = "PREFECT_API_URL=http://127.0.0.1:1/api"
	r.spare.spare = s
	p := mustStart(t, r, f.add(Scheduled), fakeLaunch(t))
	if p.PID == s.process.PID || s.process.alive() {
		t.Error("a spare with the address of another server was used, or left")
	}
}
