package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/headrace/headrace/internal/otlp"
)

// Series describes a family of series.
type Series struct {
	Name   string   // as Prometheus has it, which ends with the unit
	Type   string   // "counter", "gauge" or "histogram"
	Labels []string // besides those of Labels
	Help   string

	desc *prometheus.Desc
}

// OTLP returns the name and the unit of the series in OpenTelemetry, such as
// headrace.stage.seconds and s; a server of Prometheus that is sent these has Name again.
func (s Series) OTLP() (name, unit string) { return otlp.Name(s.Name) }

const (
	counter   = "counter"
	gauge     = "gauge"
	histogram = "histogram"
)

// Table lists all families, in the order of the docs.
func Table() []Series {
	list := make([]Series, len(table))
	for i, s := range table {
		list[i] = *s
	}
	return list
}

// Of the loop.
var (
	info    = add("headrace_info", gauge, "1, with the version of Headrace and what decodes images", "version", "decoder")
	batches = add("headrace_batches_total", counter, "Batches that the loop was given")
	wait    = add("headrace_batch_wait_seconds", histogram, "Time that the loop waited for a batch")
	loop    = add("headrace_loop_seconds_total", counter, "Time of the loop: part wait, for batches, and part step, all else", "part")
	start   = add("headrace_start_seconds_total", counter, "Time that the loop waited for its first batch")
	ready   = add("headrace_ready", gauge, "1 once the first batch is made")
	stalls  = add("headrace_stalls_total", counter, "Times that nothing moved for so long that it was reported")
	stalled = add("headrace_stalled_seconds", gauge, "Time in which nothing has moved, from the report of a stall to its end; else 0")
	limit   = add("headrace_bottleneck", gauge, "1 for the stage that limits; no series: none does", "stage")
	traces  = add("headrace_traces_total", counter, "Traces of samples, sent and dropped: see OpenTelemetry", "outcome")
)

// Of stages.
var (
	workers  = add("headrace_stage_workers", gauge, "Workers of the stage", "stage")
	taken    = add("headrace_stage_input_items_total", counter, "Items that the stage has taken", "stage")
	given    = add("headrace_stage_items_total", counter, "Items that the stage has handed on", "stage")
	skipped  = add("headrace_stage_skipped_items_total", counter, "Items that the stage has dropped on purpose", "stage")
	failures = add("headrace_stage_failures_total", counter,
		"Failures by what came of them: lost, replaced, retried, or abandoned after the timeout", "stage", "outcome")
	moved = add("headrace_stage_bytes_total", counter, "Bytes that the stage has read or written", "stage")
	spent = add("headrace_stage_seconds_total", counter, "Time of the stage's workers: busy, starved, blocked, "+
		"gated (they wait for a CPU) or queued (for a process of functions)", "stage", "state")
	took = add("headrace_stage_duration_seconds", histogram,
		"Time that an item keeps a worker busy; of fast stages a part is timed", "stage")

	queued = add("headrace_queue_items", gauge, "Messages in the queue after the stage", "stage")
	room   = add("headrace_queue_capacity_items", gauge, "Messages that this queue has room for", "stage")
)

// Of functions, mixes, shards and stores.
var (
	calls    = add("headrace_function_calls_total", counter, "Calls of a Python function that have come back", "stage")
	called   = add("headrace_function_seconds_total", counter, "Time of these calls", "stage")
	restarts = add("headrace_function_restarts_total", counter, "Processes of functions that have replaced others", "stage")
	mixed    = add("headrace_mix_items_total", counter, "Items that a mix took of a source", "stage", "source")
	shards   = add("headrace_shard_bytes_total", counter, "Bytes of shards: read, and those of them that samples used", "kind")
	damaged  = add("headrace_damaged_total", counter, "Damaged frames and recordings that were kept", "kind")

	requests = add("headrace_store_requests_total", counter, "Requests to a host of a store that have ended", "host")
	trouble  = add("headrace_store_trouble_total", counter,
		"Requests that failed, were throttled, repeated (retry) or sent twice (hedge)", "host", "kind")
	fetched   = add("headrace_store_bytes_total", counter, "Bytes that were wanted, and that came (fetched)", "host", "kind")
	requested = add("headrace_store_request_seconds_total", counter, "Time that requests took", "host")
	paced     = add("headrace_store_wait_seconds_total", counter, "Time that requests waited for their turn", "host")
	atOnce    = add("headrace_store_concurrency", gauge, "Requests that may be sent at once now", "host")
)

// Of memory and processes.
var (
	memory      = add("headrace_memory_bytes", gauge, "Bytes of the budget in use, by what for", "holder")
	memoryLimit = add("headrace_memory_limit_bytes", gauge, "The budget")
	held        = add("headrace_held_batches", gauge, "Batches that the program holds")
	cpu         = add("headrace_process_cpu_seconds_total", counter, "CPU time of the engine, the program and the workers", "process")
	resident    = add("headrace_process_memory_bytes", gauge, "Memory of these processes", "process")
)

var table []*Series

func add(name, typ, help string, labels ...string) *Series {
	s := &Series{name, typ, labels, help, prometheus.NewDesc(name, help+".", labels, nil)}
	table = append(table, s)
	return s
}
