// SPDX-License-Identifier: MIT
// The official JavaScript SDKs drive our service. Speaks TAP; each step is
// named for what the SDK does, and they share one sandbox as a program would.
// With --any-release a step that the installed release does not have is
// skipped, as in the matrix of releases; else it is a failure.

import assert from 'node:assert/strict'
import * as e2b from 'e2b'
import { Sandbox } from '@e2b/code-interpreter'

const { Sandbox: Plain, CommandExitError } = e2b
const any = process.argv.includes('--any-release')

class Missing extends Error {}

// Whether there is such a member; the newest has them all.
function has(thing, name) {
  assert.ok(any || thing[name] !== undefined, `no ${name}`)
  return thing[name] !== undefined
}
function needs(thing, name) {
  if (!has(thing, name)) throw new Missing(`this release has no ${name}`)
}

// The ids of those with that metadata; before 2.0 it was one array.
async function listed(metadata) {
  const found = await Sandbox.list({ query: { metadata } })
  const boxes = has(found, 'nextItems') ? await found.nextItems() : found
  return boxes.filter((one) => !any || Object.entries(metadata)
    .every(([key, value]) => one.metadata[key] === value))
    .map((one) => one.sandboxId.split('-')[0])
}

// What later releases call FileNotFoundError, and pause.
const Absent = has(e2b, 'FileNotFoundError')
  ? e2b.FileNotFoundError : e2b.NotFoundError
async function pause(box) {
  if (!any || box.pause) return box.pause()
  needs(box, 'betaPause')
  return box.betaPause()
}

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk' +
  '+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const metadata = { peer: 'js', odd: 'a b&c=d/é' }
let box

const pids = async () => (await box.commands.list()).map((one) => one.pid)

const steps = {
  async 'creates a sandbox with metadata and environment'() {
    box = await Sandbox.create({
      timeoutMs: 300_000, metadata, envs: { GLOBAL: 'g' },
    })
    assert.equal(await box.isRunning(), true)
  },

  async 'reads its info'() {
    needs(box, 'getInfo')
    const info = await box.getInfo()
    assert.equal(info.sandboxId.split('-')[0], box.sandboxId.split('-')[0])
    assert.deepEqual(info.metadata, metadata)
    assert.equal(has(info, 'state') ? info.state : 'running', 'running')
  },

  async 'lists sandboxes by metadata'() {
    assert.deepEqual(await listed(metadata), [box.sandboxId.split('-')[0]])
    assert.deepEqual(await listed({ odd: 'another' }), [])
  },

  async 'runs a command and reads both streams'() {
    const done = await box.commands.run('echo out; echo err >&2')
    assert.deepEqual([done.stdout, done.stderr, done.exitCode],
      ['out\n', 'err\n', 0])
  },

  async 'raises on a non-zero exit code'() {
    await assert.rejects(box.commands.run('echo before; exit 3'), (error) =>
      error instanceof CommandExitError && error.exitCode === 3 &&
      error.stdout === 'before\n')
  },

  async 'gives a command its environment and folder'() {
    const done = await box.commands.run('echo $GLOBAL $OWN $PWD',
      { envs: { OWN: 'o' }, cwd: '/tmp' })
    assert.equal(done.stdout, 'g o /tmp\n')
  },

  async 'runs in the background, streams, lists and kills'() {
    let ready
    const seen = new Promise((resolve) => { ready = resolve })
    const handle = await box.commands.run('echo ready; sleep 100',
      { background: true, onStdout: ready })
    assert.equal(await seen, 'ready\n')
    assert.ok((await pids()).includes(handle.pid))
    assert.equal(await handle.kill(), true)
    await assert.rejects(handle.wait())
    assert.ok(!(await pids()).includes(handle.pid))
    assert.equal(await box.commands.kill(handle.pid), false)
  },

  async 'sends standard input'() {
    const closes = has(box.commands, 'closeStdin')
    const handle = await box.commands.run(closes ? 'cat' : 'head -n 1',
      { background: true, stdin: true })
    await box.commands.sendStdin(handle.pid, 'héllo\n')
    if (closes) await box.commands.closeStdin(handle.pid)
    assert.equal((await handle.wait()).stdout, 'héllo\n')
  },

  async 'writes and reads text and bytes'() {
    await box.files.write('/home/user/a b.txt', 'text é')
    assert.equal(await box.files.read('/home/user/a b.txt'), 'text é')
    const every = Uint8Array.from({ length: 10240 }, (_, i) => i % 256)
    await box.files.write('bytes.bin', every.buffer)
    const back = await box.files.read('bytes.bin', { format: 'bytes' })
    assert.deepEqual(Buffer.from(back), Buffer.from(every))
  },

  async 'writes several files at once'() {
    const written = await box.files.write([
      { path: '/tmp/1.txt', data: '1' }, { path: 'sub/2.txt', data: '22' }])
    assert.deepEqual(written.map((one) => one.path),
      ['/tmp/1.txt', '/home/user/sub/2.txt'])
  },

  async 'lists, renames, finds and removes'() {
    const files = box.files
    assert.equal(await files.makeDir('/home/user/d'), true)
    assert.equal(await files.makeDir('/home/user/d'), false)
    await files.write('/home/user/d/x', 'x')
    const entries = await files.list('/home/user')
    assert.equal(entries.find((one) => one.name === 'd').type, 'dir')
    await files.rename('/home/user/d/x', '/home/user/d/y')
    assert.equal(await files.exists('/home/user/d/y'), true)
    assert.equal(await files.exists('/home/user/d/x'), false)
    await files.remove('/home/user/d')
    assert.equal(await files.exists('/home/user/d'), false)
    await assert.rejects(files.read('/home/user/nowhere'), Absent)
  },

  async 'runs code and keeps its state'() {
    await box.runCode('x = 20')
    const done = await box.runCode("print('hi')\nx + 1")
    assert.equal(done.text, '21')
    assert.deepEqual(done.logs.stdout, ['hi\n'])
    const failed = await box.runCode('1 / 0')
    assert.equal(failed.error.name, 'ZeroDivisionError')
  },

  async 'gets a picture from code'() {
    const done = await box.runCode(`import base64
class Picture:
    def _repr_png_(self): return base64.b64decode('${png}')
Picture()`)
    assert.equal(done.results[0].png.trim(), png)
  },

  async 'runs code in a context of its own and in other languages'() {
    const context = await box.createCodeContext({ cwd: '/tmp' })
    const where = await box.runCode('import os; os.getcwd()', { context })
    assert.equal(where.text, '/tmp')
    const done = await box.runCode('echo $((6 * 7))', { language: 'bash' })
    assert.equal(done.logs.stdout.join(''), '42\n')
  },

  async 'sets the timeout'() {
    needs(box, 'getInfo')
    const before = (await box.getInfo()).endAt
    needs({ endAt: before }, 'endAt')
    await box.setTimeout(900_000)
    assert.ok((await box.getInfo()).endAt - before > 300_000)
  },

  async 'pauses and connects again, files and processes kept'() {
    const handle = await box.commands.run('sleep 200', { background: true })
    handle.wait().catch(() => {}) // the pause drops the stream
    await pause(box)
    assert.equal((await box.getInfo()).state, 'paused')
    const again = await Plain.connect(box.sandboxId)
    assert.equal(await again.files.read('/home/user/a b.txt'), 'text é')
    assert.ok((await pids()).includes(handle.pid))
    await again.commands.kill(handle.pid)
  },

  async 'reads metrics'() {
    needs(box, 'getMetrics')
    const seen = await box.getMetrics()
    assert.ok(seen.length > 0 && seen[0].memTotal > 0)
  },

  async 'kills it, and it is gone'() {
    // Before 2.0 the object's own kill does not say.
    assert.equal(any ? await Sandbox.kill(box.sandboxId) : await box.kill(),
      true)
    assert.equal(await Sandbox.kill(box.sandboxId), false)
    assert.equal(await box.isRunning(), false)
    if (has(box, 'getInfo')) await assert.rejects(box.getInfo())
  },
}

let failed = 0
for (const [title, step] of Object.entries(steps)) {
  try {
    await step()
    console.log(`ok - the JavaScript SDK ${title}`)
  } catch (error) {
    if (error instanceof Missing) {
      console.log(`ok - the JavaScript SDK ${title} # SKIP ${error.message}`)
      continue
    }
    failed++
    console.log(`not ok - the JavaScript SDK ${title}`)
    console.log(String(error.stack).replace(/^/gm, '# '))
  }
}
process.exit(failed === 0 ? 0 : 1)
