//go:build headrace_debug

package arena

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unsafe"
)

// beyond is the slot's memory and what follows it, as a careless writer in C sees it.
func beyond(s *Slot) []byte {
	b := s.Bytes()
	return unsafe.Slice(unsafe.SliceData(b), len(b)+guardBytes)
}

func wantCorrupt(t *testing.T, err error, want CorruptError) {
	t.Helper()
	var got *CorruptError
	if !errors.As(err, &got) || *got != want {
		t.Fatalf("got %v, want %v", err, &want)
	}
	if !strings.Contains(err.Error(), want.When) {
		t.Fatalf("%v does not say when", err)
	}
}

func TestWriteBeyondTheEnd(t *testing.T) {
	for _, size := range []int{1, 100, 4096 - guardBytes, 4096, 5000} {
		for _, offset := range []int{size, size + guardBytes - 1} {
			a := open(t, Options{Slots: 2, SlotBytes: size})
			s := reserve(t, a)
			beyond(s)[offset] = 0
			wantCorrupt(t, s.Seal(), CorruptError{Slot: 0, Offset: offset, When: "sealed"})
			do(t, s.Seal) // each is reported once

			memory := beyond(s)
			do(t, s.Send)
			memory[offset] = 1
			wantCorrupt(t, a.Release(0, 0), CorruptError{Slot: 0, Offset: offset, When: "given back"})
			if a.Stats().Free != 2 {
				t.Fatalf("the slot did not come back: %+v", a.Stats())
			}
			do(t, reserve(t, a).Drop)
		}
	}
}

func TestGivenBackIsPoisoned(t *testing.T) {
	a := open(t, Options{Slots: 1, SlotBytes: 10_000})
	s := reserve(t, a)
	memory := s.Bytes()
	if bytes.Contains(memory, []byte{poisonByte}) {
		t.Fatal("a new slot is poisoned")
	}
	do(t, s.Drop)
	if !bytes.Equal(memory, bytes.Repeat([]byte{poisonByte}, len(memory))) {
		t.Fatal("a slot that was given back is not poisoned")
	}
}

func TestWriteAfterGivingBack(t *testing.T) {
	a := open(t, Options{Slots: 1, SlotBytes: 10_000})
	s := reserve(t, a)
	memory := s.Bytes()
	for _, offset := range []int{0, 4095, 4096, 9999} {
		do(t, s.Seal, s.Send, func() error { return a.Release(0, 0) })
		memory[offset]++
		_, err := a.Reserve(t.Context())
		wantCorrupt(t, err, CorruptError{Slot: 0, Offset: offset, When: "reserved again"})
		s = reserve(t, a)
	}
	do(t, s.Drop)
}
