// SPDX-License-Identifier: MIT
// Read by node before the program: every name below ebb.test is loopback, as a
// wildcard in DNS would say. The SDK itself stays as it is.

import dns from 'node:dns'

const lookUp = dns.lookup
dns.lookup = (name, ...rest) =>
  lookUp(name.endsWith('.ebb.test') ? '127.0.0.1' : name, ...rest)
