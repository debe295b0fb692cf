/** An MCP server with two tools: one fails and has no schema. It also prints a line that is no message, and sends a ping. */
import { createInterface } from 'node:readline'

const send = message => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const schema = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] }

process.stdout.write('starting up\n')
createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize') {
    send({ id: 'are-you-there', method: 'ping' })
    send({
      id,
      result: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'test', version: '1' },
      },
    })
  } else if (method === 'tools/list') {
    const first = { tools: [{ name: 'weather', description: 'The weather.', inputSchema: schema }], nextCursor: 'more' }
    send({ id, result: params.cursor ? { tools: [{ name: 'storm' }] } : first })
  } else if (method === 'tools/call') {
    if (params.name === 'storm') send({ id, result: { content: [{ type: 'text', text: 'No storm.' }], isError: true } })
    else send({ id, result: { content: [{ type: 'text', text: `Sunny in ${params.arguments.place}.` }] } })
  }
})
