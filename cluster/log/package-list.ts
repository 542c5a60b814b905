/** The packages of a tenant in the store of the cluster, as a small record has them: JSON, checked when it is read. */
import Type, {type Static} from 'typebox';
import {decodeStored} from './stored-json.ts';

const Package = Type.Object(
  {
    sha512: Type.String({pattern: '^[0-9a-f]{128}$'}),
    /** Of its subject. */
    id: Type.String({pattern: '^[0-9a-f]{32}$'}),
    bytes: Type.Integer({minimum: 1, maximum: Number.MAX_SAFE_INTEGER}),
  },
  {additionalProperties: false},
);
const PackageList = Type.Object(
  {
    /** Of the newest owner that has used the list. An earlier one changes nothing any more. */
    epoch: Type.Integer({minimum: 0, maximum: Number.MAX_SAFE_INTEGER}),
    packages: Type.Array(Package),
    /** Ids whose parts are to be removed: packages that were dropped, or that are being written. */
    garbage: Type.Array(Type.String({pattern: '^[0-9a-f]{32}$'})),
  },
  {additionalProperties: false},
);
export type PackageInfo = Readonly<Static<typeof Package>>;
export type PackageList = {
  readonly epoch: number;
  readonly packages: readonly PackageInfo[];
  readonly garbage: readonly string[];
};

export const NO_PACKAGES: PackageList = {epoch: 0, packages: [], garbage: []};

export function encodePackageList(list: PackageList): Buffer {
  return Buffer.from(JSON.stringify(list));
}

/** @throws LogError */
export function decodePackageList(bytes: Buffer): PackageList {
  return decodeStored(PackageList, bytes, 'the list of packages of a tenant');
}
