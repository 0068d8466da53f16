// npm's @aws-sdk/client-ec2 and @google-cloud/compute, unmodified but for the endpoint, drive rbmock.
// Usage: npm_clients.mjs EC2_URL GCP_URL ACCOUNT.json MODULES ACCESS_KEY SECRET, where MODULES is a node_modules folder that holds both.
import {createRequire} from 'node:module';
import {randomUUID} from 'node:crypto';
import assert from 'node:assert/strict';

const [ec2Url, gcpUrl, account, modules, accessKeyId, secretAccessKey] = process.argv.slice(2);
const require = createRequire(modules + '/');

async function refusal(promise) {
    try {
        await promise;
    } catch (e) {
        return e.name === 'Error' ? e.message : e.name;
    }
    return null;
}

async function driveEc2() {
    const {EC2Client, RunInstancesCommand, CreateTagsCommand, TerminateInstancesCommand, DescribeSpotPriceHistoryCommand,
           paginateDescribeInstances} = require('@aws-sdk/client-ec2');
    const ec2 = new EC2Client({endpoint: ec2Url, region: 'us-east-1', maxAttempts: 1,
                               credentials: {accessKeyId, secretAccessKey}});
    const launch = {ImageId: 'ami-00000000000000000', InstanceType: 'g5.xlarge', MinCount: 6, MaxCount: 6, ClientToken: 'js',
                    TagSpecifications: [{ResourceType: 'instance', Tags: [{Key: 'rb:run-id', Value: 'j s+é'}]}]};
    const ids = (await ec2.send(new RunInstancesCommand(launch))).Instances.map(i => i.InstanceId);
    const again = (await ec2.send(new RunInstancesCommand(launch))).Instances.map(i => i.InstanceId);
    assert.deepEqual(again, ids, 'a token launches once');
    assert.equal(await refusal(ec2.send(new RunInstancesCommand({...launch, MinCount: 1}))), 'IdempotentParameterMismatch');
    await ec2.send(new CreateTagsCommand({Resources: ids.slice(0, 1), Tags: [{Key: 'more', Value: '1'}]}));
    let found = [], pages = 0;
    for await (const page of paginateDescribeInstances({client: ec2, pageSize: 5},
                                                       {Filters: [{Name: 'tag:rb:run-id', Values: ['j s+é']}]})) {
        pages++;
        found = found.concat(page.Reservations.flatMap(r => r.Instances).map(i => i.InstanceId));
    }
    assert.deepEqual([found, pages], [ids, 2], 'six instances on two pages');
    const spot = await ec2.send(new DescribeSpotPriceHistoryCommand(
        {InstanceTypes: ['g5.xlarge'], ProductDescriptions: ['Linux/UNIX'], StartTime: new Date()}));
    assert.equal(spot.SpotPriceHistory[0].SpotPrice, '0.412500');
    const ended = await ec2.send(new TerminateInstancesCommand({InstanceIds: ids}));
    assert.ok(ended.TerminatingInstances.every(i => i.CurrentState.Name === 'shutting-down'));
}

// google-auth-library posts to the public token host whatever token_uri says: the token is fetched here, from rbmock.
async function accessToken() {
    const {readFileSync} = await import('node:fs');
    const {createSign} = await import('node:crypto');
    const key = JSON.parse(readFileSync(account, 'utf8')), now = Math.floor(Date.now() / 1000);
    const encode = value => Buffer.from(JSON.stringify(value)).toString('base64url');
    const text = encode({alg: 'RS256', typ: 'JWT', kid: key.private_key_id}) + '.' +
                 encode({iss: key.client_email, aud: 'https://oauth2.googleapis.com/token', iat: now, exp: now + 600,
                         scope: 'https://www.googleapis.com/auth/cloud-platform'});
    const assertion = text + '.' + createSign('RSA-SHA256').update(text).sign(key.private_key).toString('base64url');
    const body = new URLSearchParams({grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion});
    return (await (await fetch(key.token_uri, {method: 'POST', body})).json()).access_token;
}

function instance(name) {
    return {name, machineType: 'zones/us-central1-a/machineTypes/g2-standard-4', labels: {'rb-run': 'js'},
            disks: [{boot: true, autoDelete: true, initializeParams: {
                sourceImage: 'projects/debian-cloud/global/images/family/debian-12', diskSizeGb: '50'}}],
            networkInterfaces: [{network: 'global/networks/default'}],
            scheduling: {provisioningModel: 'SPOT', instanceTerminationAction: 'DELETE', onHostMaintenance: 'TERMINATE'}};
}

async function driveCompute() {
    const {InstancesClient, ZoneOperationsClient, MachineTypesClient} = require('@google-cloud/compute');
    const {OAuth2Client} = require('google-auth-library');
    const authClient = new OAuth2Client();
    authClient.setCredentials({access_token: await accessToken(), expiry_date: Date.now() + 600e3});
    const at = new URL(gcpUrl), place = {project: 'test', zone: 'us-central1-a'};
    const options = {apiEndpoint: at.hostname, port: Number(at.port), protocol: 'http', fallback: 'rest', authClient,
                     projectId: 'test'};
    const instances = new InstancesClient(options), operations = new ZoneOperationsClient(options);
    const done = async ([{latestResponse: operation}]) => {
        while (operation.status !== 'DONE')
            [operation] = await operations.wait({...place, operation: operation.name});
        return operation;
    };
    const requestId = randomUUID();
    for (const name of ['js-1', 'js-2', 'js-3']) {
        const operation = await done(await instances.insert({...place, instanceResource: instance(name),
                                                             requestId: name === 'js-1' ? requestId : undefined}));
        assert.ok(!operation.error, name);
    }
    assert.match(await refusal(instances.insert({...place, instanceResource: instance('js-1')})), /already exists/);
    const [one] = await instances.get({...place, instance: 'js-1'});
    assert.equal(one.scheduling.provisioningModel, 'SPOT');
    const found = [];
    for await (const [zone, scope] of instances.aggregatedListAsync(
        {project: 'test', filter: 'labels.rb-run=js', maxResults: 2, returnPartialSuccess: true}))
        found.push(...scope.instances.map(i => zone + '/' + i.name));
    assert.deepEqual(found, ['js-1', 'js-2', 'js-3'].map(n => 'zones/us-central1-a/' + n), 'three over two pages');
    await done(await instances.setLabels({...place, instance: 'js-1', instancesSetLabelsRequestResource:
        {labels: {'rb-run': 'other'}, labelFingerprint: one.labelFingerprint}}));
    const [types] = await new MachineTypesClient(options).list({...place, filter: 'name=g2-standard-4'});
    assert.equal(types[0].accelerators[0].guestAcceleratorCount, 1);
    await done(await instances.delete({...place, instance: 'js-1'}));
    assert.match(await refusal(instances.get({...place, instance: 'js-1'})), /not found/);
}

await driveEc2();
await driveCompute();
