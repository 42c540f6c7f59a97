"""The values of an accommodation profile: how a rider travels and what help they need."""

from lib.choices import TextChoices


class Mobility(TextChoices):
    AMBULATORY = "ambulatory"
    AMBULATORY_ASSIST = "ambulatory_assist", "ambulatory with assistance"
    WHEELCHAIR_TRANSFER = "wheelchair_transfer", "wheelchair, can transfer"
    WHEELCHAIR = "wheelchair"
    WHEELCHAIR_POWER = "wheelchair_power", "power wheelchair"
    WHEELCHAIR_BARIATRIC = "wheelchair_bariatric", "bariatric wheelchair"
    RECLINER_CHAIR = "recliner_chair", "recliner chair (Geri, Broda)"
    STRETCHER = "stretcher"
    STRETCHER_BARIATRIC = "stretcher_bariatric", "bariatric stretcher"


class AssistLevel(TextChoices):
    CURB_TO_CURB = "curb_to_curb", "curb to curb"
    DOOR_TO_DOOR = "door_to_door", "door to door"
    DOOR_THROUGH_DOOR = "door_through_door", "door through door"
    BED_TO_BED = "bed_to_bed", "bed to bed"


class Severity(TextChoices):
    NONE = "none"
    SOME = "some"
    SEVERE = "severe"


class Precautions(TextChoices):
    NONE = "none"
    CONTACT = "contact"
    DROPLET = "droplet"
    AIRBORNE = "airborne"


class StairEquipment(TextChoices):
    NONE = "none", "none"
    RAMP = "ramp", "ramp"
    STAIR_CHAIR = "stair_chair", "stair chair"


class OxygenSource(TextChoices):
    OWN_TANK = "own_tank", "own tank"
    CONCENTRATOR = "concentrator"
    VEHICLE = "vehicle"
