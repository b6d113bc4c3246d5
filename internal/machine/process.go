package machine

import (
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"
	"time"
)

// Process is what a process has used since it began, and what it holds now.
type Process struct {
	PID   int
	Began int64 // in ticks after the machine's start: with PID, it tells a process from a later one of the same number

	User, System time.Duration // of all its threads, also of those that have ended; in steps of 10 ms
	Children     time.Duration // of both, for children that have ended and that it has waited for
	Threads      int
	Delayed      *time.Duration // of its first thread: it could have worked, and had no CPU; nil: the system does not say

	Memory *Memory // nil: the system does not say
	IO     *IO     // nil: the system does not say; it tells only of processes of the same user
}

// Memory is what a process has in memory, in bytes.
type Memory struct {
	Resident int64 // shared memory and files that are mapped are in it
	Shared   int64 // of it, shared memory; it counts in every process that has it mapped
	Peak     int64 // the most that was ever resident
	Swapped  int64 // in swap, and not resident
}

// IO is what a process has read and written, in bytes. Children that it has waited for
// are in it.
type IO struct {
	Read        int64 // by calls: what files, pipes and the page cache gave it
	ReadDisk    int64 // what had to be fetched from disk or a server, mapped files included
	Written     int64
	WrittenDisk int64 // what has to go to a disk or a server in the end
}

// ticks is how many a second has in /proc, whatever the kernel's own clock does:
// USER_HZ, which is 100 wherever Headrace runs.
const ticks = 100

// ReadProcess reads what the system tells of a process. The error is fs.ErrNotExist
// where there is none of that number, or it may not be seen.
func ReadProcess(root fs.FS, pid int) (Process, error) {
	dir := "proc/" + strconv.Itoa(pid)
	stat, err := fs.ReadFile(root, dir+"/stat")
	if err != nil {
		return Process{}, err
	}
	p, ok := parseStat(string(stat))
	if !ok || p.PID != pid {
		return Process{}, fmt.Errorf("machine: /%s/stat is %q", dir, stat)
	}
	if text := readText(root, dir+"/status"); text != "" {
		p.Memory = parseStatus(text)
	}
	if fields := strings.Fields(readText(root, dir+"/schedstat")); len(fields) == 3 { // time on a CPU, time ready for one, turns
		if n, ok := parseNumber(fields[1]); ok {
			p.Delayed = new(time.Duration(n))
		}
	}
	if text := readText(root, dir+"/io"); text != "" {
		p.IO = &IO{Read: fieldNumber(text, "rchar"), ReadDisk: fieldNumber(text, "read_bytes"),
			Written: fieldNumber(text, "wchar"), WrittenDisk: fieldNumber(text, "write_bytes")}
	}
	return p, nil
}

// parseStat reads /proc/PID/stat. The second field is the program's name in
// parentheses, in which anything may be, also blanks and parentheses: the fields
// after it begin after the last one.
func parseStat(text string) (p Process, ok bool) {
	number, _, ok := strings.Cut(text, " (")
	if !ok {
		return p, false
	}
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const state = 3 // the first of them, as proc(5) counts
	if len(fields) <= 22-state {
		return p, false
	}
	n := func(field int) int64 {
		v, parsed := parseNumber(fields[field-state])
		ok = ok && parsed
		return v
	}
	duration := func(field int) time.Duration { // no process has used a century
		return time.Duration(min(n(field), 1<<38)) * (time.Second / ticks)
	}
	pid, err := strconv.Atoi(number)
	p = Process{PID: pid, User: duration(14), System: duration(15), Children: duration(16) + duration(17),
		Threads: int(n(20)), Began: n(22)}
	return p, ok && err == nil
}

// parseStatus finds the memory in /proc/PID/status; a process that has ended, and was
// not waited for yet, has none.
func parseStatus(text string) *Memory {
	kib := func(name string) int64 { return min(fieldNumber(text, name), 1<<52) * 1024 }
	return &Memory{Resident: kib("VmRSS"), Shared: kib("RssShmem"), Peak: kib("VmHWM"), Swapped: kib("VmSwap")}
}

// fieldNumber is the number of a line; 0 where there is none.
func fieldNumber(text, name string) int64 {
	value, _ := Field(text, name)
	n, _ := parseNumber(strings.TrimSuffix(value, " kB"))
	return n
}

// Network is what has passed the network's interfaces, in bytes, but for the one by
// which the machine talks to itself.
type Network struct{ Received, Sent int64 }

// ReadNetwork reads what has passed the network of a process, which it shares with all
// processes of its container, or of the machine; not ok where the system does not say.
func ReadNetwork(root fs.FS, pid int) (sum Network, ok bool) {
	const received, sent, columns = 0, 8, 16
	for line := range strings.Lines(readText(root, "proc/"+strconv.Itoa(pid)+"/net/dev")) {
		name, rest, cut := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		if !cut || len(fields) < columns {
			continue // a line of the heading
		}
		ok = true
		if strings.TrimSpace(name) == "lo" {
			continue
		}
		in, ok1 := parseNumber(fields[received])
		out, ok2 := parseNumber(fields[sent])
		if ok1 && ok2 {
			sum.Received, sum.Sent = added(sum.Received, in), added(sum.Sent, out)
		}
	}
	return sum, ok
}

// CPU is the time of all CPUs of the machine since it started, in a container as well.
type CPU struct{ Busy, Idle time.Duration }

// ReadCPU reads it.
func ReadCPU(root fs.FS) (CPU, bool) {
	const idle, wait, columns = 3, 4, 8 // user, nice, system, idle, iowait, irq, softirq, steal
	line, _, _ := strings.Cut(readText(root, "proc/stat"), "\n")
	fields := strings.Fields(line)
	if len(fields) <= columns || fields[0] != "cpu" {
		return CPU{}, false
	}
	var c CPU
	for i, field := range fields[1 : columns+1] {
		n, ok := parseNumber(field)
		if !ok {
			return CPU{}, false
		}
		took := time.Duration(min(n, 1<<38)) * (time.Second / ticks)
		if i == idle || i == wait {
			c.Idle += took
		} else {
			c.Busy += took
		}
	}
	return c, true
}

// added is a sum of two numbers from 0 on that does not run over.
func added(a, b int64) int64 { return min(a, math.MaxInt64-b) + b }
