// The TypeScript SDK's client against an MCP server: open, tools/list, tools/call, and a raw agents/list and agents/get.
//
//   node ts_client.mjs v1|v2-session|v2-stateless URL TOKEN
//
// Prints one JSON object with what the server answered. It judges nothing: the test that runs it does.

import * as z from 'zod';

const AGENTS = 'io.modelcontextprotocol/agents';
const ME = { name: 'typescript-sdk', version: '1.0.0' };
const DECLARED = { extensions: { [AGENTS]: {} } };
const NEGOTIATION = { 'v2-session': 'legacy', 'v2-stateless': { pin: '2026-07-28' } };

async function sdkOf(which) {
    if (which === 'v1') {
        const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
        const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
        return { client: new Client(ME, { capabilities: DECLARED }), StreamableHTTPClientTransport };
    }
    const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
    const versionNegotiation = { mode: NEGOTIATION[which] };
    return { client: new Client(ME, { capabilities: DECLARED, versionNegotiation }), StreamableHTTPClientTransport };
}

/** What became of a request: its result, or the error as far as this SDK lets it be seen. */
async function outcome(promise) {
    try {
        return { result: await promise };
    } catch (error) {
        const { code, message, data, requiredScope, resourceMetadataUrl } = error;
        return { error: { kind: error.constructor.name, code, message, data, requiredScope, resourceMetadataUrl } };
    }
}

async function main(which, url, token) {
    const { client, StreamableHTTPClientTransport } = await sdkOf(which);
    const headers = { Authorization: `Bearer ${token}` };
    const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
    await client.connect(transport);
    const raw = (method, params) => outcome(client.request({ method, params }, z.looseObject({})));
    const seen = {
        capabilities: client.getServerCapabilities(),
        server: client.getServerVersion(),
        instructions: client.getInstructions(),
        tools: (await client.listTools()).tools,
        called: await outcome(client.callTool({ name: 'list_failed_pipelines', arguments: { limit: 1 } })),
        hiddenTool: await outcome(client.callTool({ name: 'list_invoices', arguments: {} })),
        agents: await raw('agents/list', {}),
        opened: await raw('agents/get', { name: 'pipeline-agent' }),
        billing: await raw('agents/get', { name: 'billing-agent' }),
        deploy: await raw('agents/get', { name: 'deploy-agent' }),
    };
    await client.close();
    console.log(JSON.stringify(seen));
}

await main(...process.argv.slice(2));
