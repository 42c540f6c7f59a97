"""The values of an accommodation profile: how a rider travels and what help they need."""

from lib.choices import TextChoices
from lib.messages import gettext_lazy as _
from lib.messages import pgettext_lazy


class Mobility(TextChoices):
    AMBULATORY = "ambulatory", _("Ambulatory")
    AMBULATORY_ASSIST = "ambulatory_assist", _("ambulatory with assistance")
    WHEELCHAIR_TRANSFER = "wheelchair_transfer", _("wheelchair, can transfer")
    WHEELCHAIR = "wheelchair", _("Wheelchair")
    WHEELCHAIR_POWER = "wheelchair_power", _("power wheelchair")
    WHEELCHAIR_BARIATRIC = "wheelchair_bariatric", _("bariatric wheelchair")
    RECLINER_CHAIR = "recliner_chair", _("recliner chair (Geri, Broda)")
    STRETCHER = "stretcher", _("Stretcher")
    STRETCHER_BARIATRIC = "stretcher_bariatric", _("bariatric stretcher")


class AssistLevel(TextChoices):
    CURB_TO_CURB = "curb_to_curb", _("curb to curb")
    DOOR_TO_DOOR = "door_to_door", _("door to door")
    DOOR_THROUGH_DOOR = "door_through_door", _("door through door")
    BED_TO_BED = "bed_to_bed", _("bed to bed")


class Severity(TextChoices):
    NONE = "none", _("None")
    SOME = "some", _("Some")
    SEVERE = "severe", _("Severe")


class Precautions(TextChoices):
    NONE = "none", pgettext_lazy("precautions", "None")
    CONTACT = "contact", _("Contact")
    DROPLET = "droplet", _("Droplet")
    AIRBORNE = "airborne", _("Airborne")


class StairEquipment(TextChoices):
    NONE = "none", pgettext_lazy("stair equipment", "none")
    RAMP = "ramp", _("ramp")
    STAIR_CHAIR = "stair_chair", _("stair chair")


class OxygenSource(TextChoices):
    OWN_TANK = "own_tank", _("own tank")
    CONCENTRATOR = "concentrator", _("Concentrator")
    VEHICLE = "vehicle", _("Vehicle")
