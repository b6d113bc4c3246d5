package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"sync"
	"time"
)

// link has all connections share a number of bytes a second, as a network card does.
type link struct {
	net.Listener
	rate float64

	mu   sync.Mutex
	free time.Time // when the bytes that were written have left; guarded by mu
}

// Accept implements [net.Listener].
func (l *link) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &shaped{c, l}, err
}

// shaped is a connection over a link.
type shaped struct {
	net.Conn
	link *link
}

// piece is as many bytes as leave together.
const piece = 16 << 10

// Write implements [net.Conn].
func (s *shaped) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		part := p[n:min(len(p), n+piece)]
		s.link.wait(len(part))
		m, err = s.Conn.Write(part)
		n += m
	}
	return n, err
}

func (l *link) wait(n int) {
	l.mu.Lock()
	now := time.Now()
	if l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(float64(n) / l.rate * float64(time.Second)))
	until := l.free
	l.mu.Unlock()
	time.Sleep(time.Until(until))
}

// selfSigned makes a certificate for this machine, and writes it to a file.
func selfSigned(path string) (c tls.Certificate, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return c, err
	}
	now := time.Now()
	about := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		return c, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, os.WriteFile(path, text, 0o600)
}
