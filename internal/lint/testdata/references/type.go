// Package references has files that refer to each other in each way that counts.
package references

// T is declared here, its method elsewhere.
type T struct{ Field int }
