// Package egress lets programs without a network of their own reach named targets and nothing else.
//
// Outside of the box a [Proxy] listens on a Unix socket. It serves HTTP CONNECT, and plain HTTP in
// absolute form, for exactly the targets of its list. It resolves names itself and dials the
// address that it has judged, so that a name cannot lead to this host. Everything else is refused
// with 403 and counted; [Proxy.Traffic] is the evidence of the targets that were reached. Inside of the box the
// program runs under package forwarder, which brings the socket to an address of loopback.
//
// The list holds hosts, not the parties behind them: a host that serves many parties inside of TLS is
// open to all of them. A worker that needs a proxy itself to reach the network is not supported.
package egress
