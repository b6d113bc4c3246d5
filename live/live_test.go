package live

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/node"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/stats"
)

// meet has processes of the test meet in a folder of their own.
func meet(t *testing.T) {
	t.Helper()
	leak.Check(t)
	f, err := node.Open(filepath.Join(t.TempDir(), "place"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Use())
}

const tick = 5 * time.Millisecond

// numbers are the counts of a loader whose stage decode is the bottleneck, after so many
// readings, each a second after the one before.
func numbers(n int64) stats.Snapshot {
	second := time.Duration(n) * time.Second
	s := stats.Snapshot{Memory: stats.Memory{Limit: 1 << 30, Used: 1 << 20}}
	s.Elapsed, s.Loop, s.Waited, s.Yielded = second, second, second*3/4, 10*n
	s.Stages = []pipe.StageStats{
		{Name: "files", Kind: "source", Workers: 1, In: 100 * n, Out: 100 * n, Blocked: second},
		{Name: "decode", Kind: "map", Workers: 2, In: 80 * n, Out: 80 * n, Lost: n, Busy: 2 * second},
		{Name: "batch", Kind: "batch", Workers: 1, In: 80 * n, Out: 10 * n, Starved: second},
	}
	s.Queues = []pipe.QueueStats{
		{From: "files", To: "decode", Cap: 8, Len: 8}, {From: "decode", To: "batch", Cap: 4}, {From: "batch", Cap: 2},
	}
	return s
}

// counting returns counts that grow with each reading.
func counting() func() stats.Snapshot {
	var n atomic.Int64
	return func() stats.Snapshot { return numbers(n.Add(1)) }
}

// open watches a loader, and opens its page.
func open(t *testing.T, l Loader) (p *process, w *Watched, address string) {
	t.Helper()
	p = newProcess(tick)
	w = p.watch(l)
	t.Cleanup(w.Close)
	address, err := p.serve(0)
	if err != nil {
		t.Fatal(err)
	}
	return p, w, address
}

var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}

func get(t *testing.T, method, url string, header map[string]string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// TestWhoIsAnswered: the page, to a browser on this machine that knows the address.
func TestWhoIsAnswered(t *testing.T) {
	meet(t)
	_, w, address := open(t, Loader{Name: "train", Stats: counting()})
	host := strings.Split(address, "/")[2]
	history := address + "history?loader=" + w.id
	ours := map[string]string{"Origin": "http://" + host, "Sec-Fetch-Site": "same-origin"}
	picture := map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
	for name, c := range map[string]struct {
		method, url string
		header      map[string]string
		status      int
		says        string
	}{
		"page":                   {"GET", address, nil, 200, "<!doctype html>"},
		"by its own name":        {"GET", address, map[string]string{"Host": "localhost:1"}, 200, "<!doctype html>"},
		"history":                {"GET", history, nil, 200, `"step":1`},
		"history, of the page":   {"GET", history, ours, 200, `"step":1`},
		"sample of none":         {"GET", address + "sample?loader=" + w.id, ours, 204, ""},
		"history of none":        {"GET", address + "history?loader=0-0", nil, 404, ""},
		"another path":           {"GET", address + "etc/passwd", nil, 404, ""},
		"no token":               {"GET", "http://" + host + "/", nil, 403, "lacks its token"},
		"no token, events":       {"GET", "http://" + host + "/events", nil, 403, "lacks its token"},
		"wrong token":            {"GET", "http://" + host + "/" + strings.Repeat("A", 26) + "/", nil, 403, "lacks its token"},
		"part of the token":      {"GET", strings.TrimSuffix(address, "/")[:len(address)-2] + "/", nil, 403, "lacks its token"},
		"name of another host":   {"GET", address, map[string]string{"Host": "evil.example"}, 403, "ask for 127.0.0.1"},
		"another origin":         {"GET", history, map[string]string{"Origin": "http://evil.example"}, 403, "other origins"},
		"another port's origin":  {"GET", history, map[string]string{"Origin": "http://127.0.0.1:1"}, 403, "other origins"},
		"another site's picture": {"GET", address, picture, 403, "other origins"},
		"POST":                   {"POST", address, nil, 405, ""},
		"DELETE":                 {"DELETE", history, nil, 405, ""},
	} {
		if status, body := get(t, c.method, c.url, c.header); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d, %.80q, want %d, %q", name, status, body, c.status, c.says)
		}
	}
}

// TestThePageRunsItsOwnScriptAlone: texts never become HTML, and no other script runs.
func TestThePageRunsItsOwnScriptAlone(t *testing.T) {
	meet(t)
	_, _, address := open(t, Loader{Stats: counting()})
	answer, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got := answer.Header.Get("Content-Security-Policy")
	if !strings.Contains(got, "default-src 'none'") || strings.Contains(got, "unsafe") || !strings.Contains(got, "frame-ancestors 'none'") {
		t.Errorf("the policy is %s", got)
	}
	for _, bad := range []string{
		"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", " style=\"", "http://", "https://",
	} {
		text := strings.ReplaceAll(string(html), "http://www.w3.org/2000/svg", "")
		if strings.Contains(text, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	if n := bytes.Count(html, []byte("<script")); n != 1 {
		t.Errorf("the page has %d scripts, and the policy the hash of one", n)
	}
}

// events reads from a page's events until one is enough.
func events(t *testing.T, address, loader string, enough func(event) bool) (last event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", address+"events?loader="+loader, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if len(data) > mostEvent {
			t.Errorf("an event has %d bytes", len(data))
		}
		last = event{}
		if err := json.Unmarshal([]byte(data), &last); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		if enough(last) {
			return last
		}
	}
	t.Fatalf("the events end with %+v: %v", last, lines.Err())
	return last
}

// TestEvents: what limits, rates, the loop, and what was told of samples.
func TestEvents(t *testing.T) {
	meet(t)
	_, w, address := open(t, Loader{
		Name: "train", Program: "train.py", PID: 7, Rank: 1, Ranks: 4, Stats: counting(), Batches: 50, Epochs: new(3),
	})
	w.Took(2, 9, 64)
	w.Waited(time.Second)
	w.Waited(3 * time.Second)
	w.Lost(Failure{Key: "a<b>.jpg", Index: 5, Epoch: 2, Stage: "decode", Error: "cut off"})
	w.Lost(Failure{Key: "c.jpg", Replaced: true})
	w.Note("stall", "nothing moves")
	got := events(t, address, "", func(e event) bool { return e.Now.Progress.Given == 1 && len(e.Now.Notes) > 0 }).Now

	const sentence = "The consumer waits for data 75 % of the time. The bottleneck is decode: its 2 workers are busy 100 % of the time."
	if got.Sentence != sentence {
		t.Errorf("%q", got.Sentence)
	}
	if got.Name != "train" || got.Program != "train.py" || got.PID != 7 || got.Rank != 1 || got.Ranks != 4 {
		t.Errorf("%+v", got)
	}
	if want := (Progress{Epoch: 2, Epochs: 3, Batch: 10, Batches: 50, Samples: 64, Given: 1}); got.Progress != want {
		t.Errorf("%+v, want %+v", got.Progress, want)
	}
	if want := (Waits{2, 1, 1, 3}); got.Waits != want {
		t.Errorf("%+v, want %+v", got.Waits, want)
	}
	if got.Loop.Share != 0.75 || got.Loop.Wait != 0.075 || got.Loop.Step != 0.025 {
		t.Errorf("%+v", got.Loop)
	}
	s := got.Stages[1]
	if s.Busy != 1 || s.Rate != 80 || s.To != 2 || s.Room != 4 || s.Lost < 1 || got.Stages[2].To != -1 {
		t.Errorf("%+v", got.Stages)
	}
	if f := got.Failures; got.Lost != 1 || got.Replaced != 1 || f[0].Key != "c.jpg" || f[1].Key != "a<b>.jpg" {
		t.Errorf("%+v", got)
	}
	if got.Notes[len(got.Notes)-1].Code != "stall" {
		t.Errorf("%+v", got.Notes)
	}
}

// TestStepsOfTheLoopAreApart: time in steps with where="main" is no wait. The loop limits
// if it is most of what keeps batches from the loop.
func TestStepsOfTheLoopAreApart(t *testing.T) {
	w := &Watched{began: time.Now(), loader: Loader{Stats: func() stats.Snapshot {
		s := numbers(10) // of 10 s with 100 batches, 7.5 s before they came
		s.Main = 6 * time.Second
		return s
	}}}
	w.sample(time.Now())
	got := w.now.Loop
	if got.Share != 0.15 || got.MainShare != 0.6 || got.Wait != 0.015 || got.Main != 0.06 || got.Step != 0.025 {
		t.Errorf("%+v", got)
	}
	if w.now.Limits != loopLimits || !strings.Contains(w.now.Sentence, `in the steps with where="main"`) {
		t.Errorf("%d limits: %s", w.now.Limits, w.now.Sentence)
	}
	var e struct{ Loaders []map[string]any }
	if err := json.Unmarshal(eventOf([]*Moment{w.now}, ""), &e); err != nil || e.Loaders[0]["main"] != 0.6 {
		t.Errorf("%v, %v", e, err)
	}
}

// TestAMomentIsOfTheLastSeconds, and of more if the loop is slow.
func TestAMomentIsOfTheLastSeconds(t *testing.T) {
	begin := time.Now()
	read := func(batches func(second int64) int64) *Moment {
		n := int64(0)
		w := &Watched{began: begin, loader: Loader{Stats: func() stats.Snapshot {
			s := numbers(max(1, n))
			s.Yielded = batches(n)
			return s
		}}}
		for ; n <= 200; n++ {
			w.sample(begin.Add(time.Duration(n) * time.Second))
		}
		if len(w.readings) > 20 {
			t.Errorf("%d readings are kept", len(w.readings))
		}
		return w.now
	}
	if m := read(func(n int64) int64 { return 5 * n }); m.Window < 10 || m.Window > 11 {
		t.Errorf("%v seconds", m.Window)
	}
	if m := read(func(n int64) int64 { return n / 20 }); m.Window < 60 || m.Window > 70 {
		t.Errorf("%v seconds with a batch each 20", m.Window)
	}
	if m := read(func(int64) int64 { return 3 }); m.Window != 200 {
		t.Errorf("%v seconds with no batch for long", m.Window)
	}
}

// TestMuchIsCut: any number of stages, loaders and failures, with names of any length.
func TestMuchIsCut(t *testing.T) {
	long := strings.Repeat("<é\x00&\xff", 400)
	s := numbers(5)
	s.Stages, s.Queues = nil, nil
	for i := range 64 {
		name := fmt.Sprint(i, long)
		s.Stages = append(s.Stages, pipe.StageStats{Name: name, In: 1e15, Busy: time.Hour, Workers: 100})
		s.Queues = append(s.Queues, pipe.QueueStats{From: name, Cap: 1e6})
		s.Resources.Processes = append(s.Resources.Processes, stats.Process{Name: name})
		s.Memory.Purposes = append(s.Memory.Purposes, stats.Purpose{Name: name, Used: 1 << 50})
	}
	s.Stalled = &stats.Stalled{Report: long}
	var all []*Moment
	for i := range 100 {
		l := Loader{Program: cut(long, mostText), Stats: func() stats.Snapshot { return s }}
		w := &Watched{id: fmt.Sprint(i), name: cut(long, 60), loader: l, began: time.Now()}
		for range 20 {
			w.Lost(Failure{Key: long, Stage: long, Error: long})
			w.Note("x", long)
		}
		w.sample(time.Now())
		all = append(all, w.now)
	}
	for _, id := range []string{"0", "77", "none"} {
		text := eventOf(all, id)
		if len(text) > mostEvent {
			t.Errorf("%d bytes", len(text))
		}
		var e event
		if err := json.Unmarshal(text, &e); err != nil || id != "none" && e.Now.ID != id || len(e.Loaders)+e.Unshown != 100 {
			t.Errorf("%v: %.300s", err, text)
		}
		if bytes.ContainsAny(text, "<>\x00\n") {
			t.Errorf("%.300q", text)
		}
	}
}

// TestABrowserThatDoesNotRead gets fewer moments, and the loader never waits for it.
func TestABrowserThatDoesNotRead(t *testing.T) {
	meet(t)
	p, w, address := open(t, Loader{Stats: counting()})
	host, token := strings.Split(address, "/")[2], strings.Split(address, "/")[3]
	for range 3 {
		c, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.(*net.TCPConn).SetReadBuffer(1 << 10)
		fmt.Fprintf(c, "GET /%s/events HTTP/1.1\r\nHost: %s\r\n\r\n", token, host)
	}
	begun := time.Now()
	for range 200 {
		next := p.next()
		w.Took(0, 0, 1)
		<-next
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("200 readings took %v", took)
	}
	events(t, address, "", func(e event) bool { return e.Now.Progress.Given >= 200 })
}

// TestTooManyBrowsers are refused, until one leaves.
func TestTooManyBrowsers(t *testing.T) {
	meet(t)
	_, _, address := open(t, Loader{Stats: counting()})
	var all []io.Closer
	for range mostBrowsers {
		answer, err := http.Get(address + "events")
		if err != nil || answer.StatusCode != 200 {
			t.Fatal(answer, err)
		}
		all = append(all, answer.Body)
	}
	if status, body := get(t, "GET", address+"events", nil); status != 503 || !strings.Contains(body, "16 browsers") {
		t.Errorf("%d, %s", status, body)
	}
	for _, body := range all {
		body.Close()
	}
	for status := 503; status == 503; time.Sleep(tick) {
		answer, err := http.Get(address + "events")
		if err != nil {
			t.Fatal(err)
		}
		status = answer.StatusCode
		answer.Body.Close()
	}
}

// TestAPortThatAnotherHas: the error names it, and another port works.
func TestAPortThatAnotherHas(t *testing.T) {
	meet(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	p := newProcess(tick)
	if _, err := p.serve(0); err == nil || !strings.Contains(err.Error(), "no loader") {
		t.Error(err)
	}
	w := p.watch(Loader{Stats: counting()})
	defer w.Close()
	_, err = p.serve(port)
	want := "127.0.0.1:" + strconv.Itoa(port) + ": address already in use; the loader goes on"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	first, err := p.serve(0)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := p.serve(0); err != nil || again != first {
		t.Errorf("%s, then %s, %v", first, again, err)
	}
}

// TestOtherProcesses of the user are shown on the page, with their history, until they
// end; and to those who only ask.
func TestOtherProcesses(t *testing.T) {
	meet(t)
	_, _, address := open(t, Loader{Name: "train", Ranks: 2, Stats: counting()})
	other := newProcess(tick)
	second := other.watch(Loader{Name: "train", Rank: 1, Ranks: 2, Stats: counting()})
	defer second.Close()
	val := other.watch(Loader{Name: "train", Stats: counting()})
	defer val.Close()

	e := events(t, address, second.id, func(e event) bool { return len(e.Loaders) == 3 && e.Now.Rank == 1 })
	if e.Now.ID != second.id || e.Loaders[2].Name != "train 2" {
		t.Errorf("%+v", e)
	}
	status, body := get(t, "GET", address+"history?loader="+second.id, nil)
	if status != 200 || !strings.Contains(body, `"stages":["decode"]`) {
		t.Errorf("%d, %s", status, body)
	}
	if all, err := All(t.Context()); err != nil || len(all) != 3 {
		t.Errorf("%v, %v", all, err)
	}
	second.Close()
	val.Close()
	val.Close() // again does nothing
	events(t, address, second.id, func(e event) bool { return len(e.Loaders) == 1 && e.Now.Rank == 0 })
}

// TestAgain: after the last loader has gone, another one is shown at another address.
func TestAgain(t *testing.T) {
	meet(t)
	p, w, first := open(t, Loader{Stats: counting()})
	w.Close()
	if _, err := client.Get(first); err == nil {
		t.Error("the page is still served")
	}
	again := p.watch(Loader{Stats: counting()})
	defer again.Close()
	if second, err := p.serve(0); err != nil || second == first {
		t.Errorf("%s, %v", second, err)
	}
}

// TestHistory: a point a second, fewer for much time.
func TestHistory(t *testing.T) {
	var h history
	begin := time.Now()
	decode := h.number("decode")
	for i := range 5000 {
		limit := decode
		if i%2 == 0 {
			limit = loopLimits
		}
		if i > 4000 {
			limit = h.number("read")
		}
		at := time.Duration(i) * time.Second
		h.add(begin.Add(at), int64(100*i), loopTimes{at, at / 4}, limit)
		if i == 10 {
			got := h.of()
			if got.Step != 1 || len(got.Rate) != 10 || got.Rate[3] != 100 || got.Wait[9] != 0.25 {
				t.Errorf("%+v", got)
			}
			if got.Limits[9] != loopLimits || got.Limits[8] != 0 {
				t.Errorf("%+v", got)
			}
		}
	}
	got := h.of()
	lengths := [3]int{len(got.Rate), len(got.Wait), len(got.Limits)}
	if got.Step != 5 || lengths != [3]int{720, 720, 720} || got.Limits[719] != 1 || got.Limits[0] == 1 {
		t.Errorf("%d points of %d seconds, which end with %d", len(got.Rate), got.Step, got.Limits[719])
	}
}

// TestALimitThatStaysIsNoted once, not one that comes and goes.
func TestALimitThatStaysIsNoted(t *testing.T) {
	var l steadyLimit
	var said []string
	for i, limit := range []int{0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1, -2, -1, -1, -1, -1, -1, -1} {
		if changed, text := l.see(&Moment{Limits: limit, Stages: []Stage{{Name: "read"}, {Name: "decode"}}}); changed {
			said = append(said, fmt.Sprint(i, " ", text))
		}
	}
	if got := strings.Join(said, "; "); got != "4 the limit is read; 16 the limit moved from read to your loop" {
		t.Error(got)
	}
}
