// SPDX-License-Identifier: MIT
// sdk.mjs CASE N: the official JavaScript SDK, as its documentation uses it.
import { readFileSync } from 'node:fs'
import { Sandbox } from '@e2b/code-interpreter'

const [name = 'first', count = '1'] = process.argv.slice(2)
const n = Number(count)
const status = () => readFileSync('/proc/self/status', 'utf8')
const kb = (what) => RegExp(`${what}:\\s+(\\d+)`).exec(status())[1]

const box = await Sandbox.connect('ibench00000000000000')
const files = Array.from({ length: 100 }, (_, i) => (
  { path: `/home/user/f${i}`, data: 'x'.repeat(1024) }))
const command = (text) => box.commands.run(text)
const output = async (frame) => {
  const run = await command(`true # out=${n}/${frame}`)
  if (run.stdout.length !== n) throw new Error('output')
}
const once = {
  kept: () => command('true'),
  read: () => box.files.read('/home/user/f'),
  write: () => box.files.write(files),
  list: () => box.files.list('/home/user'),
  code: () => box.runCode('1+1'),
}

await command('true')
const idle = kb('VmRSS')
const began = process.hrtime.bigint()
const before = process.cpuUsage()
if (name === 'out') await output(32768)
else if (name === 'frames') await output(16)
else if (name === 'conc') {
  await Promise.all(Array.from({ length: n },
    () => command('true # hold=200')))
} else if (once[name]) {
  for (let i = 0; i < n; i++) await once[name]()
}
const used = process.cpuUsage(before)
console.log(`wall_us=${(process.hrtime.bigint() - began) / 1000n} ` +
  `cpu_us=${used.user + used.system} idle_kb=${idle} peak_kb=${kb('VmHWM')}`)
process.exit(0)
