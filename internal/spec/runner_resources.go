package spec

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// runnerSizes are what one runner reserves and may use, by a name. What is reserved counts
// against the nodes; the limit bounds what a job takes when there is more.
var runnerSizes = map[string]slipway.ServiceResources{
	"small":    resources("500m", "1Gi", "1", "4Gi"),
	"standard": resources("1", "2Gi", "2", "4Gi"),
	"compute":  resources("2", "4Gi", "4", "8Gi"),
	"large":    resources("4", "8Gi", "8", "16Gi"),
}

const defaultSize = "standard"

func resources(cpu, memory, cpuLimit, memoryLimit string) slipway.ServiceResources {
	return slipway.ServiceResources{
		Requests: slipway.ServiceQuantities{CPU: cpu, Memory: memory},
		Limits:   slipway.ServiceQuantities{CPU: cpuLimit, Memory: memoryLimit},
	}
}

// The least that a runner with its Docker daemon and its sandbox can live in, and the most
// that is not a slip of the hand.
const (
	minCPU         = 200             // millicores
	minMemory      = 768 << 20       // bytes
	minMemoryLimit = 4 << 30         // bytes
	maxCPU         = 512 * 1000      // millicores
	maxMemory      = int64(16) << 40 // bytes
)

// resources reads what a runner is given beyond, or instead of, what its size says.
func (r *reader) resources(n *node, path string, size slipway.ServiceResources) slipway.ServiceResources {
	if n == nil || !r.table(n, path, "requests", "limits") {
		return size
	}
	before := len(r.faults)
	out := size
	for _, side := range []struct {
		key string
		to  *slipway.ServiceQuantities
	}{{"requests", &out.Requests}, {"limits", &out.Limits}} {
		if v := n.get(side.key); v != nil && r.table(v, path+"."+side.key, "cpu", "memory") {
			r.quantity(v.get("cpu"), path+"."+side.key+".cpu", &side.to.CPU, cpuAmount, cpuText, `"250m", 0.25 or 2`)
			r.quantity(v.get("memory"), path+"."+side.key+".memory", &side.to.Memory, memoryAmount, memoryText, `"1024Mi" or "4Gi"`)
		}
	}
	if len(r.faults) == before {
		r.bounds(n, path, out)
	}
	return out
}

// quantity reads one amount and puts its one form into to.
func (r *reader) quantity(n *node, path string, to *string, amount func(string) (int64, bool), text func(int64) string, example string) {
	if n == nil {
		return
	}
	raw := n.text()
	if n.shape == wholeShape || n.shape == numberShape {
		raw = strings.ReplaceAll(n.raw, "_", "")
	} else if !r.shaped(n, path, textShape, "write "+example) {
		return
	}
	v, ok := amount(raw)
	if !ok {
		r.fault(n.pos, path, "write "+example, "%q is no amount of it", cut(raw, 40))
		return
	}
	*to = text(v)
}

// bounds holds what a runner needs, and that nothing is reserved beyond what may be used.
func (r *reader) bounds(n *node, path string, x slipway.ServiceResources) {
	amounts := Amounts(x)
	at := func(parts ...string) (pos, string) {
		where, p := n, n.pos
		for _, k := range parts {
			next, place := where.child(k)
			if next == nil {
				break
			}
			where, p = next, place
		}
		return p, path + "." + strings.Join(parts, ".")
	}
	least := func(v, low int64, text, why string, parts ...string) {
		if v < low {
			p, where := at(parts...)
			r.fault(p, where, "write "+strconv.Quote(text)+" or more", "is less than %s, %s", text, why)
		}
	}
	const sandbox = "which the runner, its Docker daemon and its sandbox need"
	least(amounts.CPURequest, minCPU, "200m", sandbox, "requests", "cpu")
	least(amounts.MemoryRequest, minMemory, "768Mi", sandbox, "requests", "memory")
	least(amounts.MemoryLimit, minMemoryLimit, "4Gi", "with which jobs and their images begin to fit", "limits", "memory")
	for _, c := range []struct {
		key            string
		request, limit int64
		text           func(int64) string
	}{{"cpu", amounts.CPURequest, amounts.CPULimit, cpuText}, {"memory", amounts.MemoryRequest, amounts.MemoryLimit, memoryText}} {
		if c.request > c.limit {
			p, where := at("requests", c.key)
			r.fault(p, where, "reserve less, or raise resources.limits."+c.key, "is %s, more than the limit of %s", c.text(c.request), c.text(c.limit))
		}
	}
}

// Amounts are the quantities of an accepted spec as numbers.
func Amounts(x slipway.ServiceResources) (a slipway.RunnerResources) {
	a.CPURequest, _ = cpuAmount(x.Requests.CPU)
	a.CPULimit, _ = cpuAmount(x.Limits.CPU)
	a.MemoryRequest, _ = memoryAmount(x.Requests.Memory)
	a.MemoryLimit, _ = memoryAmount(x.Limits.Memory)
	return a
}

var quantityText = regexp.MustCompile(`^([0-9]{1,15}(?:\.[0-9]{1,9})?)([A-Za-z]*)$`)

// amount multiplies a decimal number exactly; what is no whole number of base units is
// refused, as is what is out of every bound.
func amount(s string, units map[string]int64, most int64) (int64, bool) {
	m := quantityText.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	unit, ok := units[m[2]]
	number, parsed := new(big.Rat).SetString(m[1])
	if !ok || !parsed {
		return 0, false
	}
	number.Mul(number, new(big.Rat).SetInt64(unit))
	if !number.IsInt() || !number.Num().IsInt64() || number.Num().Int64() > most || number.Sign() == 0 {
		return 0, false
	}
	return number.Num().Int64(), true
}

func cpuAmount(s string) (int64, bool) {
	return amount(s, map[string]int64{"": 1000, "m": 1}, maxCPU)
}

func memoryAmount(s string) (int64, bool) {
	return amount(s, map[string]int64{
		"Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Ki": 1 << 10, "": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
	}, maxMemory)
}

func cpuText(milli int64) string {
	if milli%1000 == 0 {
		return strconv.FormatInt(milli/1000, 10)
	}
	return strconv.FormatInt(milli, 10) + "m"
}

func memoryText(bytes int64) string {
	for _, u := range []struct {
		size int64
		unit string
	}{{1 << 30, "Gi"}, {1 << 20, "Mi"}, {1 << 10, "Ki"}} {
		if bytes%u.size == 0 {
			return strconv.FormatInt(bytes/u.size, 10) + u.unit
		}
	}
	return strconv.FormatInt(bytes, 10)
}
