// SPDX-License-Identifier: MIT
// sdk.mjs CASE N: the official JavaScript SDK, as its documentation uses it. A
// task is given the sandbox's id alone, so each connects; "kept" and the long
// outputs keep the Sandbox.
import { readFileSync } from 'node:fs'
import { Sandbox } from '@e2b/code-interpreter'

const [name = 'first', count = '1'] = process.argv.slice(2)
const n = Number(count)
const status = () => readFileSync('/proc/self/status', 'utf8')
const kb = (what) => RegExp(`${what}:\\s+(\\d+)`).exec(status())[1]

const connect = () => Sandbox.connect('ibench00000000000000')
const box = await connect()
const files = Array.from({ length: 100 }, (_, i) => (
  { path: `/home/user/f${i}`, data: 'x'.repeat(1024) }))
const command = (text) => box.commands.run(text)
const output = async (frame) => {
  const run = await command(`true # out=${n}/${frame}`)
  if (run.stdout.length !== n) throw new Error('output')
}
const once = {
  task: async () => (await connect()).commands.run('true'),
  kept: () => command('true'),
  read: async () => (await connect()).files.read('/home/user/f'),
  write: async () => (await connect()).files.write(files),
  list: async () => (await connect()).files.list('/home/user'),
  code: async () => (await connect()).runCode('1+1'),
}

await command('true')
const idle = kb('VmRSS')
const began = process.hrtime.bigint()
const before = process.cpuUsage()
if (name === 'out') await output(32768)
else if (name === 'frames') await output(16)
else if (name === 'conc') {
  await Promise.all(Array.from({ length: n },
    async () => (await connect()).commands.run('true # hold=200')))
} else if (once[name]) {
  for (let i = 0; i < n; i++) await once[name]()
}
const used = process.cpuUsage(before)
console.log(`wall_us=${(process.hrtime.bigint() - began) / 1000n} ` +
  `cpu_us=${used.user + used.system} idle_kb=${idle} peak_kb=${kb('VmHWM')}`)
process.exit(0)
