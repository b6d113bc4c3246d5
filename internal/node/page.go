package node

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A page has words that are common to all its members, and then one of each member.
const (
	pageSize = 4096
	commons  = 16
	seats    = pageSize/8 - commons

	reached   = commons - 1 // the common word with how many seats were ever taken
	lookAfter = time.Second // members come and go seldom
	mostWait  = time.Second // for those who are just coming
)

// Page has numbers that the processes of a node share. [Page.Common] may be used by any
// number of goroutines; [Page.Others] by one at a time.
type Page struct {
	words *[pageSize / 8]atomic.Int64
	seat  int

	lock   locked
	mapped []byte // nil: it is of this process alone

	looked time.Time
	others []int // the seats of the other members
}

// mostShared is the number of pages that a process shares. Each takes a descriptor for as
// long as the process lives, and a list of addresses may name thousands of hosts.
const mostShared = 64

var shared atomic.Int64 // pages of this process

// Share returns the page of a name. If this process is alone, or the folder cannot be
// used, no other process has it.
func Share(name string) *Page {
	if f := met(); f != nil && shared.Load() < mostShared {
		if p, err := f.share(name); err == nil {
			shared.Add(1)
			return p
		}
	}
	return &Page{words: new([pageSize / 8]atomic.Int64)}
}

// Common returns a number that all members see, of which there are 15. It is zero at
// first.
func (p *Page) Common(i int) *atomic.Int64 { return &p.words[:reached][i] }

// Mine returns the number of this member, which the others add up.
func (p *Page) Mine() *atomic.Int64 { return &p.words[commons+p.seat] }

// Others returns how many other members there are, and the sum of their numbers. A
// member that has died is found out within a second.
func (p *Page) Others() (n int, sum int64) {
	if p.mapped == nil {
		return 0, 0
	}
	if now := time.Now(); p.looked.IsZero() || now.Sub(p.looked) >= lookAfter {
		p.looked, p.others = now, p.others[:0]
		for i := range int(min(p.words[reached].Load(), seats)) {
			if free, err := p.lock.isFree(int64(i), int64(i)+1); i != p.seat && err == nil && !free {
				p.others = append(p.others, i)
			}
		}
	}
	for _, i := range p.others {
		sum += p.words[commons+i].Load()
	}
	return len(p.others), sum
}

// Close ends the membership. A process that ends need not call it.
func (p *Page) Close() {
	if p.mapped != nil {
		unix.Munmap(p.mapped)
		p.lock.close()
		shared.Add(-1)
		p.mapped, p.words = nil, new([pageSize / 8]atomic.Int64)
		p.seat = 0
	}
}

func (f *Folder) share(name string) (*Page, error) {
	path := f.file(pages, name)
	for until := time.Now().Add(mostWait); ; {
		l, err := openLocked(path, unix.O_CREAT)
		if err != nil {
			return nil, err
		}
		p, err := l.enter(path)
		if err == nil {
			return p, nil
		}
		l.close()
		if !errors.Is(err, errTaken) || time.Now().After(until) {
			return nil, err
		}
		time.Sleep(time.Millisecond)
	}
}

// enter becomes a member; errTaken: others are just coming.
func (l locked) enter(path string) (*Page, error) {
	if err := l.lock(door); err != nil {
		return nil, err
	}
	defer l.unlock(door)
	if !l.isAt(path) {
		return nil, errTaken // it was removed before there was a lock
	}
	isFirst, err := l.isFree(0, seats)
	if err == nil && isFirst {
		err = l.write(make([]byte, pageSize)) // not a hole, for which there may be no room later
	}
	if err != nil {
		return nil, fmt.Errorf("node: %s: %w", path, err)
	}

	mapped, err := unix.Mmap(l.fd, 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("node: %s: %w", path, err)
	}
	p := &Page{words: (*[pageSize / 8]atomic.Int64)(unsafe.Pointer(&mapped[0])), lock: l, mapped: mapped}
	for p.seat = range seats {
		if err = l.lock(int64(p.seat)); err == nil {
			p.Mine().Store(0)
			p.words[reached].Store(max(p.words[reached].Load(), int64(p.seat)+1))
			return p, nil
		}
	}
	unix.Munmap(mapped)
	return nil, fmt.Errorf("node: %s: no seat: %w", path, err)
}
