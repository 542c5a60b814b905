/** The faults that other tests put a repository through are what they say. */
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import {afterAll, beforeEach, expect, test} from 'vitest';
import {FaultyStore} from '../harness/faulty-store.ts';
import {BUCKET, startS3} from '../harness/s3.ts';
import {until} from '../harness/until.ts';

const s3 = await startS3();
const store = await FaultyStore.start({behind: s3});
const client = new S3Client({
  endpoint: store.endpoint,
  region: 'us-east-1',
  forcePathStyle: true,
  maxAttempts: 1,
  credentials: {accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER'},
  requestChecksumCalculation: 'WHEN_REQUIRED',
  responseChecksumValidation: 'WHEN_REQUIRED',
});
afterAll(async () => {
  client.destroy();
  await store.stop();
  await s3.stop();
});
beforeEach(() => store.set({kind: 'none'}));

const BODY = 'abcdefgh'.repeat(100);
const put = (Key: string) => client.send(new PutObjectCommand({Bucket: BUCKET, Key, Body: BODY}));
async function get(Key: string): Promise<string> {
  const {Body} = await client.send(new GetObjectCommand({Bucket: BUCKET, Key}));
  return Body!.transformToString();
}
async function list(): Promise<string[]> {
  const {Contents = []} = await client.send(new ListObjectsV2Command({Bucket: BUCKET, Prefix: 'a/'}));
  return Contents.map(({Key}) => Key!);
}

test('without a fault it is a store', async () => {
  const before = store.count('PUT');
  await put('a/whole');
  expect(store.count('PUT')).toBe(before + 1);
  expect(await get('a/whole')).toBe(BODY);
  expect(await list()).toEqual(['a/whole']);
});

test('an object that was acknowledged is short, another, or gone', async () => {
  await store.set({kind: 'truncates'});
  await put('b/short');
  await store.set({kind: 'flips'});
  await put('b/flipped');
  await store.set({kind: 'forgets'});
  await put('b/gone');
  await store.set({kind: 'none'});
  expect(await get('b/short')).toBe(BODY.slice(0, 400));
  const flipped = await get('b/flipped');
  expect([...flipped].filter((char, i) => char !== BODY[i])).toHaveLength(1);
  await expect(get('b/gone')).rejects.toMatchObject({name: 'NoSuchKey'});
  expect(store.spoiled).toEqual([`/${BUCKET}/b/short`, `/${BUCKET}/b/flipped`, `/${BUCKET}/b/gone`]);
});

test('a list can be of before', async () => {
  await store.set({kind: 'stale_lists'});
  await put('a/new');
  expect(await list()).toEqual(['a/whole']);
  expect(await get('a/new')).toBe(BODY);
  await store.set({kind: 'none'});
  expect(await list()).toEqual(['a/new', 'a/whole']);
});

test('a store that fails, is full or gone does not store', async () => {
  await store.set({kind: 'fails', status: 500});
  await expect(put('c/1')).rejects.toMatchObject({$metadata: {httpStatusCode: 500}});
  await store.set({kind: 'full'});
  await expect(put('c/2')).rejects.toMatchObject({$metadata: {httpStatusCode: 507}});
  expect(await get('a/whole')).toBe(BODY);
  await store.set({kind: 'gone'});
  await expect(put('c/3')).rejects.toThrow();
  await store.set({kind: 'none'});
  for (const key of ['c/1', 'c/2', 'c/3']) await expect(get(key)).rejects.toMatchObject({name: 'NoSuchKey'});
  await client.send(new DeleteObjectCommand({Bucket: BUCKET, Key: 'a/whole'}));
  await expect(get('a/whole')).rejects.toMatchObject({name: 'NoSuchKey'});
});

test('a store that hangs answers no more until it does not', async () => {
  await store.set({kind: 'hangs'});
  const before = store.count('PUT');
  const waiting = put('d/1');
  const refused = expect(waiting).rejects.toThrow();
  await until('the request to arrive', () => store.count('PUT') > before);
  await store.set({kind: 'slow', ms: 1});
  await refused;
  await put('d/2');
  expect(await get('d/2')).toBe(BODY);
});
