package main

import (
	"testing"
	"time"
)

func TestHumanNumbers(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0:00", 7 * time.Second: "0:07", 59600 * time.Millisecond: "1:00", 754 * time.Second: "12:34", 3723 * time.Second: "1:02:03", 100 * time.Hour: "100:00:00"} {
		if got := clock(d); got != want {
			t.Errorf("%v: %s", d, got)
		}
	}
	for d, want := range map[time.Duration]string{0: "0 ms", 99 * time.Millisecond: "99 ms", 640 * time.Millisecond: "0.6 s", 9940 * time.Millisecond: "9.9 s", 9960 * time.Millisecond: "10 s", 59400 * time.Millisecond: "59 s", 59600 * time.Millisecond: "1:00"} {
		if got := seconds(d); got != want {
			t.Errorf("%v: %s", d, got)
		}
	}
	for _, c := range []struct {
		n    int64
		d    time.Duration
		want string
	}{{0, 0, "0"}, {5, 0, "0"}, {12345, 10 * time.Second, "1,235"}, {1000, 10 * time.Second, "100"}, {999, 10 * time.Second, "99.9"}, {5, 10 * time.Second, "0.50"}, {99, 10 * time.Second, "9.90"}} {
		if got := perSecond(c.n, c.d); got != c.want {
			t.Errorf("%d in %v: %s", c.n, c.d, got)
		}
	}
}

func TestSpeed(t *testing.T) {
	var s speed
	now := time.Unix(0, 0)
	if _, known := s.left(100); known {
		t.Error("nothing has come yet")
	}
	for i := range 100 {
		s.see(now.Add(time.Duration(i)*time.Second), int64(i)*20)
		s.see(now.Add(time.Duration(i)*time.Second+1), int64(i)*20+7) // too soon to say anything
	}
	if s.rate < 19.99 || s.rate > 20.01 {
		t.Errorf("the rate is %v", s.rate)
	}
	for i := range 30 { // now half as fast
		s.see(now.Add(time.Duration(100+i)*time.Second), 2000+int64(i)*10)
	}
	left, known := s.left(100)
	if s.rate > 11 || s.rate < 10 || !known || left < 9*time.Second || left > 10*time.Second {
		t.Errorf("the rate is %v, left are %v", s.rate, left)
	}
	if _, known := s.left(1e19); known {
		t.Error("nobody waits for that")
	}
}
