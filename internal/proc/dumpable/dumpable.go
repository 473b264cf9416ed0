// Package dumpable closes this process to others of the same user: on Linux its environment, memory and descriptors, and
// whoever would trace it. Root, and who has the capability to trace, is not kept out. Elsewhere the package does nothing.
//
// It imports no more than package supervisor may.
package dumpable
