// Package storetest has the tests that every [headrace/store.Store] passes, and a store
// in memory.
package storetest
