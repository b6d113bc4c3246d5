// Package web is the store of http:// and https:// names: it reads files of any server,
// by ranges.
//
// A program that imports it has both schemes; see store.Register. A name is a URL as it
// is: a space may be a space, %20 is one, a + is a +, and a query belongs to the name.
// Redirects are followed. There is no listing.
package web
